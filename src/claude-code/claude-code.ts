/**
 * The result of testing the hook of swarm's installed Claude Code plugin with two commands. The hook should
 * approve the command of swarm, and leave the other command undecided.
 */
export interface HookTestResult {
  /** The path of the folder in which swarm's plugin is installed. */
  readonly place: string;
  readonly isEnabled: boolean;
  /** Whether the hook approves the command of swarm. */
  readonly approved: boolean;
  /** Whether the hook leaves the other command undecided. Then Claude Code asks the user. */
  readonly refused: boolean;
  /** The reason why the hook does not approve the command of swarm; meaningless if `approved` is true. */
  readonly why: string;
}

export interface PluginReport {
  readonly folder: string;
  /**
   * The result of `claude plugin validate`: whether the plugin is valid, and the output. Null if `claude` is
   * not installed.
   */
  readonly claude: { readonly valid: boolean; readonly output: string } | null;
  readonly hook: HookTestResult;
}

export interface InstalledPlugin {
  readonly folder: string;
  readonly version: string;
  /** The output of `claude --version` of the Claude Code into which the plugin is installed. */
  readonly claude: string;
}
