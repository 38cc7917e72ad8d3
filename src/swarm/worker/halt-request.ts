/** A request to stop a worker before its task is done. */
export interface HaltRequest {
  readonly reason: string;
  /** The time in milliseconds within which the agent must end by itself. */
  readonly graceMs: number;
}
