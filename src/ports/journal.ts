import type { Reason, StoryStatus } from "../domain/generated/swarm-state.ts";

/** The state of a worker's newest attempt, from the messages in the host's journal. */
export interface JournalSummary {
  readonly attempt: number;
  readonly lastSeq: number;
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The newest completion, if nothing follows it. */
  readonly completion: "completed" | "failed" | "stopped" | null;
  readonly error: Reason | null;
  /** The commit of the newest checkpoint that stored one. */
  readonly lastCheckpoint: string | null;
  /** Whether the journal ends with a completion or an error, and so is complete. */
  readonly isWhole: boolean;
  /** Commits with the unfinished work of stories that failed. */
  readonly failedWork: readonly string[];
}
