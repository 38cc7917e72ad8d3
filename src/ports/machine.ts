/** Facts about this machine. */
export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** `debian`, `ubuntu`, `darwin` …, for hints. */
  readonly system: string;
  readonly isRoot: boolean;
}
