import type { CheckResult, CommitAuthor, TaskRequestPayload } from "../../src/contract/acp.ts";
import type { TaskFile, UserStory } from "../../src/contract/tasks.ts";
import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";
import type { EarlierStoryForPrompt } from "../../src/tasks/rules/story-prompt.ts";
import type { AgentTurn } from "../agents/agent.ts";
import type { NewJournalMessage } from "../journal/journal.ts";
import type { taskLimitsWithDefaults } from "../journal/task-request.ts";
import type { SupervisedTurnEnd, WatchedSandbox } from "../turn/run-turn.ts";
import type { Workspace } from "../workspace/workspace.ts";

export interface StoryExecutionDeps {
  readonly sandbox: WatchedSandbox;
  /** The copy of the repository. The environment variables of its spec contain no credentials. */
  readonly workspace: Workspace;
  readonly task: TaskToExecute;
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

/** What the host requested, and what applies to all stories of the task. */
export interface TaskToExecute {
  readonly request: TaskRequestPayload;
  readonly taskFile: TaskFile;
  readonly swarmId: string;
  readonly author: CommitAuthor;
  readonly limits: ReturnType<typeof taskLimitsWithDefaults>;
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
  readonly lastGood: LastGoodCommit;
  /** Whether an earlier adapter process started this story and did not finish it. */
  readonly isResumed: boolean;
  readonly earlier: readonly EarlierStoryForPrompt[];
}

export type StoryEnd =
  | { readonly kind: "completed"; readonly commit: string | null; readonly lastGood: LastGoodCommit }
  | ({ readonly kind: "failed" } & StoryFailure);

/**
 * The last commit that contains only completed stories, to which the adapter resets the task's branch if a
 * story fails. `bundle` names the git bundle with this commit; null for the base commit.
 */
export interface LastGoodCommit {
  readonly commit: string;
  readonly bundle: string | null;
}
