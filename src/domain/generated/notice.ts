// Made from schemas/notice.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What the command of `--notify` reads: that a swarm came to its end, or that one of its workers needs a person before that.
 */
export interface Notice {
  readonly event: "ended" | "needs-you";
  readonly at: string;
  readonly project: string;
  readonly swarmId: string;
  /**
   * What the command exits with; null while the swarm goes on.
   */
  readonly exit: number | null;
  /**
   * How it ended, in one line.
   */
  readonly text: string;
  /**
   * Workers that failed or were stopped, and results that were set aside.
   */
  readonly needsYou: readonly NeededFor[];
  /**
   * The page for a browser.
   */
  readonly report: string;
  readonly next: readonly string[];
}
export interface NeededFor {
  readonly worker: string;
  readonly why: string;
}
