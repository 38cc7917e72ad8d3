/** The answers of an installed plugin's hook to a command of swarm and to another command. */
export interface ReplayedHook {
  /** The plugin's folder. */
  readonly place: string;
  readonly isEnabled: boolean;
  /** Whether the hook approves the command of swarm. */
  readonly approved: boolean;
  /** Whether the hook leaves the other command undecided. */
  readonly refused: boolean;
  /** The hook's reason if it does not approve the command of swarm. */
  readonly why: string;
}

export interface PluginReport {
  readonly folder: string;
  /** The result of `claude` validating the plugin; null without a `claude`. */
  readonly claude: { readonly valid: boolean; readonly output: string } | null;
  readonly hook: ReplayedHook;
}

export interface InstalledPlugin {
  readonly folder: string;
  readonly version: string;
  /** The version text of the `claude` that has the plugin. */
  readonly claude: string;
}

/** The `claude` of this machine. */
export interface ClaudeProgram {
  /** The version; null without a `claude`. */
  version(): Promise<string | null>;
  run(args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }>;
}
