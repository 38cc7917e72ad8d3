/**
 * The answers of an installed plugin's hook to two test calls: a command of swarm, which the hook should
 * approve, and another command, which it should not.
 */
export interface HookTestResult {
  /** The path of the installed plugin's folder. */
  readonly place: string;
  readonly isEnabled: boolean;
  /** Whether the hook approves swarm's command. */
  readonly approved: boolean;
  /** Whether the hook leaves the other command undecided, so that Claude Code asks the user. */
  readonly refused: boolean;
  /** The reason why the hook does not approve swarm's command; without meaning if `approved` is true. */
  readonly why: string;
}

export interface PluginReport {
  readonly folder: string;
  /** Whether `claude` finds the plugin valid, and what `claude` prints; null if `claude` is not installed. */
  readonly claude: { readonly valid: boolean; readonly output: string } | null;
  readonly hook: HookTestResult;
}

export interface InstalledPlugin {
  readonly folder: string;
  readonly version: string;
  /** The version text of the `claude` into which the plugin is installed. */
  readonly claude: string;
}

/** The program `claude` that is installed on this machine. */
export interface ClaudeProgram {
  /** Returns the version of `claude`; null if no `claude` is installed. */
  version(): Promise<string | null>;
  run(args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }>;
}
