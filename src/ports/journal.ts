import type { Reason, StoryStatus } from "../domain/generated/swarm-state.ts";

/** Where the newest attempt of a worker stood, by the messages that the host has. */
export interface JournalSummary {
  readonly attempt: number;
  readonly lastSeq: number;
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The newest completion, if nothing follows it. */
  readonly completion: "completed" | "failed" | "stopped" | null;
  readonly error: Reason | null;
  /** Of the newest checkpoint that stored something. */
  readonly lastCheckpoint: string | null;
  /** Whether nothing follows a completion or an error: all was said. */
  readonly isWhole: boolean;
  /** What it stored of stories that failed. */
  readonly failedWork: readonly string[];
}
