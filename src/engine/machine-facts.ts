/** The properties of this machine on which swarm's defaults and hints to the user depend. */
export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** The operating system, such as `debian`, `ubuntu` or `darwin`. Hints to the user depend on it. */
  readonly system: string;
  readonly isRoot: boolean;
}
