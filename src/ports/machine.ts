/** What this machine has to give. */
export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** `debian`, `ubuntu`, `darwin` …, for advice. */
  readonly system: string;
  readonly isRoot: boolean;
}
