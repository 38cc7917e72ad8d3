/** The facts about this machine on which decisions and hints depend. */
export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** The operating system: `debian`, `ubuntu`, `darwin` … Hints depend on it. */
  readonly system: string;
  readonly isRoot: boolean;
}
