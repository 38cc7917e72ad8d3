import type { AcpErrorCode } from "../src/domain/acp-codes.ts";
import { showDuration } from "../src/domain/duration.ts";
import type { CheckResult, CommitAuthor, TaskRequestPayload } from "../src/domain/generated/acp.ts";
import type { TaskFile, UserStory } from "../src/domain/generated/tasks.ts";
import type { EarlierStory } from "../src/domain/story-prompt.ts";
import type { WatchedEnd } from "./agent-turn.ts";
import type { Turn } from "./agents/agent.ts";
import { completeStory, failBrokenStory, failLargeStory, failStory } from "./end-story.ts";
import { GitFailure } from "./git.ts";
import type { News } from "./journal.ts";
import { WorkTooLarge } from "./measure-work.ts";
import type { Places } from "./places.ts";
import type { ProcessWatch } from "./process-watch.ts";
import { CutOff } from "./program-end.ts";
import type { limitsOf } from "./request.ts";
import { TaskLimit } from "./task-limit.ts";
import { tryStory } from "./try-story.ts";
import type { WorkClock } from "./work-clock.ts";
import type { Workspace } from "./workspace.ts";

export interface StoryDeps {
  readonly places: Places;
  readonly clock: WorkClock;
  readonly processes: ProcessWatch;
  readonly workspace: Workspace;
  readonly request: TaskRequestPayload;
  readonly taskFile: TaskFile;
  readonly swarmId: string;
  readonly author: CommitAuthor;
  readonly limits: ReturnType<typeof limitsOf>;
  /** Environment of checks and git: no credentials. */
  readonly env: Readonly<Record<string, string>>;
  readonly takeTurn: (turn: Turn, signal: AbortSignal) => Promise<WatchedEnd>;
  readonly say: (news: News) => Promise<unknown>;
  /** The agent's own name of a story's conversation, where there is one that can be told. */
  readonly conversationOf: (storyId: string) => string | undefined;
  readonly snapshot: (storyId: string) => Promise<void>;
  /** Makes the workspace again at a commit, from what was exported of it. */
  readonly rebuild: (good: GoodCommit) => Promise<void>;
}

/** A commit that counts, and where everything up to it is stored; null when it is the one that all began with. */
export interface GoodCommit {
  readonly commit: string;
  readonly bundle: string | null;
}

export interface StoryStart {
  readonly story: UserStory;
  /** The tip when it first started. */
  readonly from: string;
  /** The last good commit: what it falls back to. */
  readonly good: string;
  readonly goodBundle: string | null;
  /** It was begun before, by a run that was cut off. */
  readonly isResumed: boolean;
  readonly earlier: readonly EarlierStory[];
}

/** `scope: "worker"`: no other story would fare better. */
export type StoryEnd =
  | {
      readonly kind: "completed";
      readonly commit: string | null;
      readonly good: string;
      readonly goodBundle: string | null;
    }
  | {
      readonly kind: "failed";
      readonly code: AcpErrorCode;
      readonly message: string;
      readonly scope: "story" | "worker";
    };

/** Why a story is not done. */
export interface Failure {
  readonly code: AcpErrorCode;
  readonly message: string;
  readonly scope: "story" | "worker";
  readonly checks?: readonly CheckResult[];
}

/** A story that is done, as far as it could be checked. */
export interface Success {
  readonly tree: string;
  readonly checks: readonly CheckResult[];
}

/** Carries out one story to its verified end, or takes back what there is of it and says why. Ends with the signal by throwing its reason. */
export async function carryOutStory(
  deps: StoryDeps,
  start: StoryStart,
  signal: AbortSignal,
): Promise<StoryEnd> {
  const { story, from } = start;
  try {
    const outcome = await tryInTime(deps, start, signal);
    return "code" in outcome
      ? await failStory(deps, start, outcome)
      : await completeStory(deps, { story, from }, outcome);
  } catch (error) {
    if (error instanceof CutOff && error.isOutOfMemory)
      return failStory(deps, start, { code: "CONTAINER_OOM", message: error.message, scope: "story" });
    if (error instanceof WorkTooLarge) return failLargeStory(deps, start, error);
    if (!(error instanceof GitFailure)) throw error;
    return failBrokenStory(deps, start, error);
  }
}

/** Limits of the story and of the task end it with a reason; a cancelled one goes on later and is not judged. */
async function tryInTime(
  deps: StoryDeps,
  start: StoryStart,
  signal: AbortSignal,
): Promise<Success | Failure> {
  using limit = deps.clock.after(deps.limits.storyMs);
  try {
    return await tryStory(deps, start, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    const { reason } = signal;
    if (reason instanceof TaskLimit) return { code: reason.code, message: reason.message, scope: "worker" };
    if (signal.aborted || !limit.signal.aborted) throw error;
    const message = `the story's limit of ${showDuration(deps.limits.storyMs)} is over`;
    return { code: "AGENT_LIMIT_REACHED", message, scope: "story" };
  }
}
