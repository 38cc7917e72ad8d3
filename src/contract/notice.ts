// Made from schemas/notice.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The input of the command of `--notify`: a swarm has ended, or one of its workers needs the user before that.
 */
export interface Notice {
  readonly event: "ended" | "needs-you";
  readonly at: string;
  readonly project: string;
  readonly swarmId: string;
  /**
   * The exit code of the command that runs the swarm; null while the swarm runs.
   */
  readonly exit: number | null;
  /**
   * The outcome in one line.
   */
  readonly text: string;
  /**
   * The failed or stopped workers, and the results that were set aside.
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
