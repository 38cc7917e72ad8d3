import { cleanText } from "../src/domain/clean-text.ts";
import type { ActivityKind } from "../src/domain/generated/acp.ts";

const perMs = 250;
/** The number of characters that the feed reads of a summary, which may be as long as a file. */
const maxLookLength = 4_000;

interface StoryActivity {
  readonly storyId: string;
  readonly kind: ActivityKind;
  readonly summary: string;
}

/** Publishes the agent's activities for people: at most four a second, and always the newest. */
export interface ActivityFeed {
  tell(activity: StoryActivity): void;
  /** Publishes the pending activity at once. */
  flush(): void;
}

export function activityFeed(publish: (activity: StoryActivity) => void): ActivityFeed {
  let waiting: StoryActivity | null = null;
  let quiet: NodeJS.Timeout | null = null;

  function publishWaiting(): void {
    quiet = null;
    if (waiting === null) return;
    const activity = waiting;
    waiting = null;
    publish(activity);
    quiet = setTimeout(publishWaiting, perMs).unref();
  }

  return {
    tell({ storyId, kind, summary }) {
      const text = cleanText(summary.slice(0, maxLookLength)).trim();
      if (text === "") return;
      waiting = { storyId, kind, summary: text };
      if (quiet === null) publishWaiting();
    },
    flush() {
      if (quiet !== null) clearTimeout(quiet);
      publishWaiting();
    },
  };
}
