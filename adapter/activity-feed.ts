import { cleanText } from "../src/domain/clean-text.ts";
import type { ActivityKind } from "../src/domain/generated/acp.ts";

const minIntervalMs = 250;
/** The maximum number of characters that the feed reads of an activity's summary; an agent may report a whole file as one. */
const maxReadLength = 4_000;

interface StoryActivity {
  readonly storyId: string;
  readonly kind: ActivityKind;
  readonly summary: string;
}

/**
 * Publishes the agent's activities for people, at most four per second. Of activities in between, it publishes only
 * the newest.
 */
export interface ActivityFeed {
  report(activity: StoryActivity): void;
  /** Publishes the newest unpublished activity at once, without the pause after the last one. */
  flush(): void;
}

export function createActivityFeed(publish: (activity: StoryActivity) => void): ActivityFeed {
  let pending: StoryActivity | null = null;
  let pauseTimer: NodeJS.Timeout | null = null;

  function publishPending(): void {
    pauseTimer = null;
    if (pending === null) return;
    const activity = pending;
    pending = null;
    publish(activity);
    pauseTimer = setTimeout(publishPending, minIntervalMs).unref();
  }

  return {
    report({ storyId, kind, summary }) {
      const text = cleanText(summary.slice(0, maxReadLength)).trim();
      if (text === "") return;
      pending = { storyId, kind, summary: text };
      if (pauseTimer === null) publishPending();
    },
    flush() {
      if (pauseTimer !== null) clearTimeout(pauseTimer);
      publishPending();
    },
  };
}
