import type { CheckResult, CommitAuthor, TaskRequestPayload } from "../../src/contract/acp.ts";
import type { TaskFile, UserStory } from "../../src/contract/tasks.ts";
import type { WorkerErrorCode } from "../../src/protocol/rules/acp-codes.ts";
import type { EarlierStoryForPrompt } from "../../src/tasks/rules/story-prompt.ts";
import { formatDuration } from "../../src/text/duration.ts";
import type { AgentTurn } from "../agents/agent.ts";
import type { NewJournalMessage } from "../journal/journal.ts";
import type { taskLimitsWithDefaults } from "../journal/request.ts";
import type { SandboxPaths } from "../machine/places.ts";
import type { ProcessWatch } from "../machine/process-watch.ts";
import { ProgramResultUnknownError } from "../machine/program-end.ts";
import { TaskLimitReached } from "../machine/task-limit.ts";
import type { PauseAwareClock } from "../machine/work-clock.ts";
import type { SupervisedTurnEnd } from "../turn/agent-turn.ts";
import { GitFailure } from "../workspace/git.ts";
import { ChangedFilesTooLargeError } from "../workspace/measure-work.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { completeStory, failOversizedStory, failStory, failStoryAfterGitFailure } from "./end-story.ts";
import { runStoryUntilChecksPass } from "./try-story.ts";

export interface StoryExecutionDeps {
  readonly paths: SandboxPaths;
  readonly clock: PauseAwareClock;
  readonly processes: ProcessWatch;
  readonly workspace: Workspace;
  readonly request: TaskRequestPayload;
  readonly taskFile: TaskFile;
  readonly swarmId: string;
  readonly author: CommitAuthor;
  readonly limits: ReturnType<typeof taskLimitsWithDefaults>;
  /** The environment variables for the checks and for git. They contain no credentials. */
  readonly env: Readonly<Record<string, string>>;
  readonly runTurn: (turn: AgentTurn, signal: AbortSignal) => Promise<SupervisedTurnEnd>;
  readonly appendToJournal: (message: NewJournalMessage) => Promise<unknown>;
  /**
   * Returns the ID of the agent's conversation about a story. Returns undefined if there is none, or if the
   * ID contains unsafe characters.
   */
  readonly conversationOf: (storyId: string) => string | undefined;
  readonly snapshot: (storyId: string) => Promise<void>;
  /** Rebuilds the workspace at the given commit from the git bundles on the adapter's volume. */
  readonly rebuild: (good: LastGoodCommit) => Promise<void>;
}

/**
 * The last commit that contains only completed stories, to which the adapter resets the task's branch if a
 * story fails. `bundle` names the git bundle with this commit; null for the base commit.
 */
export interface LastGoodCommit {
  readonly commit: string;
  readonly bundle: string | null;
}

export interface StoryToRun {
  readonly story: UserStory;
  /** The tip of the task's branch when the story was first started. */
  readonly startCommit: string;
  /**
   * The last commit that contains only completed stories. If this story fails, the adapter resets the task's
   * branch to that commit.
   */
  readonly lastGoodCommit: string;
  readonly lastGoodBundle: string | null;
  /** Whether an earlier adapter process started this story and did not finish it. */
  readonly isResumed: boolean;
  readonly earlier: readonly EarlierStoryForPrompt[];
}

/**
 * How a story ended. For a failure, `scope` is `worker` if the worker's other stories would fail for the same
 * reason.
 */
export type StoryEnd =
  | {
      readonly kind: "completed";
      readonly commit: string | null;
      readonly good: string;
      readonly goodBundle: string | null;
    }
  | {
      readonly kind: "failed";
      readonly code: WorkerErrorCode;
      readonly message: string;
      readonly scope: "story" | "worker";
    };

/**
 * The reason why a story failed. `scope` is `worker` if the worker's other stories would fail for the same
 * reason.
 */
export interface StoryFailure {
  readonly code: WorkerErrorCode;
  readonly message: string;
  readonly scope: "story" | "worker";
  readonly checks?: readonly CheckResult[];
}

/** The result of a story whose checks have passed. */
export interface StorySuccess {
  readonly tree: string;
  readonly checks: readonly CheckResult[];
}

/**
 * Runs one story until its checks pass. If the story fails, resets the task's branch and returns the reason;
 * if the task is cancelled, throws the abort reason of `signal`.
 */
export async function executeStory(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  signal: AbortSignal,
): Promise<StoryEnd> {
  const { story, startCommit } = start;
  try {
    const outcome = await tryInTime(deps, start, signal);
    return "code" in outcome
      ? await failStory(deps, start, outcome)
      : await completeStory(deps, { story, from: startCommit }, outcome);
  } catch (error) {
    if (error instanceof ProgramResultUnknownError && error.isOutOfMemory)
      return failStory(deps, start, { code: "CONTAINER_OOM", message: error.message, scope: "story" });
    if (error instanceof ChangedFilesTooLargeError) return failOversizedStory(deps, start, error);
    if (!(error instanceof GitFailure)) throw error;
    return failStoryAfterGitFailure(deps, start, error);
  }
}

/**
 * Runs a story within its time limit, and returns a failure if the story or the task reaches a limit. Throws
 * if the task is cancelled, so that the adapter can resume the story later.
 */
async function tryInTime(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  signal: AbortSignal,
): Promise<StorySuccess | StoryFailure> {
  using limit = deps.clock.after(deps.limits.storyMs);
  try {
    return await runStoryUntilChecksPass(deps, start, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    const { reason } = signal;
    if (reason instanceof TaskLimitReached)
      return { code: reason.code, message: reason.message, scope: "worker" };
    if (signal.aborted || !limit.signal.aborted) throw error;
    const message = `the story reached its time limit of ${formatDuration(deps.limits.storyMs)}`;
    return { code: "AGENT_LIMIT_REACHED", message, scope: "story" };
  }
}
