import type { Reason, StoryStatus } from "../domain/generated/swarm-state.ts";

/** A summary of the host's journal for a worker's newest attempt. */
export interface JournalSummary {
  readonly attempt: number;
  readonly lastSeq: number;
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The status of the journal's last message if that message is a `completion`; else null. */
  readonly completion: "completed" | "failed" | "stopped" | null;
  readonly error: Reason | null;
  /** The commit of the newest checkpoint that has both a commit and a bundle; null if there is none. */
  readonly lastCheckpoint: string | null;
  /** Whether the journal is complete: its last message is a `completion` or an `error`. */
  readonly isWhole: boolean;
  /** The commits that hold the unfinished work of failed stories. */
  readonly failedWork: readonly string[];
}
