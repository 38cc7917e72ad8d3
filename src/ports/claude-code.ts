/** What the hook of an installed plugin says to one of our own commands, and to one that is not. */
export interface ReplayedHook {
  /** The plugin's folder. */
  readonly place: string;
  readonly isEnabled: boolean;
  /** It approves our own command. */
  readonly approved: boolean;
  /** It says nothing to the other one. */
  readonly refused: boolean;
  /** Why our own command is not approved, in its words. */
  readonly why: string;
}

export interface PluginReport {
  readonly folder: string;
  /** Null where no `claude` is there to check it. */
  readonly claude: { readonly valid: boolean; readonly output: string } | null;
  readonly hook: ReplayedHook;
}

export interface InstalledPlugin {
  readonly folder: string;
  readonly version: string;
  /** What the `claude` calls itself that has it. */
  readonly claude: string;
}

/** The `claude` of this machine. */
export interface ClaudeProgram {
  /** Null where there is none. */
  version(): Promise<string | null>;
  run(args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }>;
}
