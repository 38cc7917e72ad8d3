import type { Reason, StoryStatus } from "../contract/swarm-state.ts";

/** A summary of the host's journal of the messages that it received in the worker's newest attempt. */
export interface JournalSummary {
  readonly attempt: number;
  readonly lastSeq: number;
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The task's status from the last message in the journal; null if that message is not a `completion`. */
  readonly completion: "completed" | "failed" | "stopped" | null;
  readonly error: Reason | null;
  /**
   * The commit of the worker's newest checkpoint that has both a commit and a bundle; null if there is none.
   */
  readonly lastCheckpoint: string | null;
  /** Whether the journal is complete, that is, whether its last message is a `completion` or an `error`. */
  readonly isWhole: boolean;
  /** The commits with the unfinished work of failed stories. */
  readonly failedWork: readonly string[];
}
