import type { ContainerRecord, StoryProgress, StoryRecord } from "../../contract/swarm-state.ts";
import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";

/** Updates a worker's record with a message from the worker's adapter. */
export function recordWithMessage(
  record: ContainerRecord,
  message: AdapterMessage,
  now: Date,
): ContainerRecord {
  const lastSeq = "seq" in message && message.seq !== undefined ? message.seq : record.lastSeq;
  const next = { ...record, lastSeq, updatedAt: now.toISOString() };
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, commit, reason } = message.payload;
      const stories = record.stories.map((story) =>
        story.id === storyId
          ? {
              ...story,
              status,
              commit: commit ?? story.commit,
              reason: reason ?? null,
              attempt: record.attempt,
            }
          : story,
      );
      return { ...next, stories, storyProgress: countStoryProgress(stories) };
    }
    case "usage": {
      // The gateway's count takes precedence over the agent's own report.
      if (record.usage?.isMetered) return next;
      const { storyId, costUsd = null, ...tokens } = message.payload;
      return { ...next, usage: { ...tokens, costUsd } };
    }
    default:
      return next;
  }
}

/** Counts a worker's stories by status. */
export function countStoryProgress(stories: readonly StoryRecord[]): StoryProgress {
  const count = (...statuses: readonly StoryRecord["status"][]): number =>
    stories.filter(({ status }) => statuses.includes(status)).length;
  return {
    total: stories.length,
    completed: count("completed"),
    failed: count("failed"),
    inProgress: count("in_progress"),
    pending: count("pending"),
    skipped: count("skipped"),
  };
}

/** Returns a new record for each story ID, for stories that have not begun. */
export function newStoryRecords(ids: readonly string[]): StoryRecord[] {
  return ids.map((id) => ({ id, status: "pending", commit: null, attempt: 1, reason: null }));
}

/**
 * Returns a worker's record that contains exactly these stories. A story that the worker's record already has
 * keeps its state.
 */
export function recordWithStories(record: ContainerRecord, ids: readonly string[]): ContainerRecord {
  const stories = newStoryRecords(ids).map(
    (story) => record.stories.find(({ id }) => id === story.id) ?? { ...story, attempt: record.attempt },
  );
  return { ...record, stories, storyProgress: countStoryProgress(stories) };
}
