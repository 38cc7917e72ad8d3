import type { CheckResult, CommitAuthor, TaskRequestPayload } from "../../src/contract/acp.ts";
import type { TaskFile, UserStory } from "../../src/contract/tasks.ts";
import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";
import type { EarlierStoryForPrompt } from "../../src/tasks/rules/story-prompt.ts";
import type { AgentTurn } from "../agents/agent.ts";
import type { NewJournalMessage } from "../journal/journal.ts";
import type { taskLimitsWithDefaults } from "../journal/task-request.ts";
import type { PauseAwareClock } from "../machine/pause-aware-clock.ts";
import type { ProcessWatch } from "../machine/process-watch.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import type { SupervisedTurnEnd } from "../turn/run-turn.ts";
import type { Workspace } from "../workspace/workspace.ts";

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
 * The last commit that contains only completed stories, to which the adapter resets the task's branch if a
 * story fails. `bundle` names the git bundle with this commit; null for the base commit.
 */
export interface LastGoodCommit {
  readonly commit: string;
  readonly bundle: string | null;
}
