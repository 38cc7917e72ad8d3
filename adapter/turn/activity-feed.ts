import type { ActivityKind } from "../../src/contract/acp.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";

const minIntervalMs = 250;
/**
 * The maximum number of characters that the feed reads from the summary of an activity. The limit is needed
 * because an agent may put a whole file into a summary.
 */
const maxReadLength = 4_000;

interface StoryActivity {
  readonly storyId: string;
  readonly kind: ActivityKind;
  readonly summary: string;
}

/**
 * Publishes descriptions of what the agent does, for people to read, at most four per second. If more arrive,
 * publishes only the newest.
 */
export interface ActivityFeed {
  report(activity: StoryActivity): void;
  /** Publishes the newest unpublished activity at once, without waiting for the minimum interval to end. */
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
      const text = sanitizeText(summary.slice(0, maxReadLength)).trim();
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
