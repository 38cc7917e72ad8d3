import { sanitizeText } from "../src/domain/clean-text.ts";
import type { ActivityKind } from "../src/domain/generated/acp.ts";

const minIntervalMs = 250;
/**
 * The maximum number of characters of an activity's summary that the feed reads, since an agent may send a
 * whole file.
 */
const maxReadLength = 4_000;

interface StoryActivity {
  readonly storyId: string;
  readonly kind: ActivityKind;
  readonly summary: string;
}

/**
 * Publishes the agent's activities for people, at most four per second. If more arrive, publishes only the
 * newest.
 */
export interface ActivityFeed {
  report(activity: StoryActivity): void;
  /** Publishes the newest unpublished activity at once, instead of after the minimum interval. */
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
