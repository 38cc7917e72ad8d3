// Made from schemas/acp.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * One line between host and adapter. With its line break, a line to the adapter has at most 8 MiB, one from it at most 64 KiB.
 */
export type AcpMessage =
  | TaskRequest
  | Credentials
  | Ack
  | Cancel
  | Resumed
  | Hello
  | ProgressUpdate
  | Activity
  | Usage
  | Checkpoint
  | Heartbeat
  | Completion
  | ErrorMessage;
export type Timestamp = string;
export type SwarmId = string;
/**
 * Empty until the first task-request.
 */
export type ContainerId = string;
export type StoryId = string;
export type CommitOrNull = string | null;
export type ConversationName = string;
export type Attempt = number;
export type AdapterPhase = "waiting" | "preparing" | "running" | "finished";
/**
 * 1, 2, 3 … without gaps, per attempt.
 */
export type Seq = number;
export type Commit = string;
export type OutPath = string;
export type Sha256 = string;
export type ActivityKind = "text" | "tool" | "command" | "plan" | "retry";
export type Count = number;
export type Sha256OrNull = string | null;
export type OutPathOrNull = string | null;

/**
 * The work. The request is idempotent: a repetition gets the same answer; a different request is REQUEST_CONFLICT.
 */
export interface TaskRequest {
  readonly type: "task-request";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: TaskRequestPayload;
}
export interface TaskRequestPayload {
  /**
   * The task file's path in the repository; the adapter reads it there if `taskFile` is absent.
   */
  readonly taskFilePath: string;
  readonly branchName: string;
  /**
   * `image:` for the tree in the image, `bundle:/aimi/in/<file>` for a bundle that the host put there before the start. The host resolves all other sources.
   */
  readonly repoUrl: string;
  /**
   * Environment of the agent and of the checks.
   */
  readonly envVars?: {
    [k: string]: string;
  };
  /**
   * The parsed content of the task file.
   */
  readonly taskFile?: {};
  /**
   * The commit from which the branch starts; the tree's own commit when absent.
   */
  readonly baseCommit?: string;
  readonly author?: CommitAuthor;
  readonly agent?: RequestedAgent;
  /**
   * Checks of the whole task, which the adapter runs after each story's own.
   *
   * @maxItems 50
   */
  readonly verify?: readonly string[];
  readonly limits?: RequestLimits;
  /**
   * Stories that earlier attempts finished.
   *
   * @maxItems 10000
   */
  readonly done?: {
    readonly storyId: StoryId;
    readonly commit: CommitOrNull;
  }[];
  readonly evidence?: Evidence;
  /**
   * The prompt's template; the built-in one when absent.
   */
  readonly prompt?: string;
}
/**
 * The author of commits: the user of the host's repository.
 */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}
export interface RequestedAgent {
  readonly kind: string;
  /**
   * The program and its arguments, for `acp` and `command`.
   *
   * @minItems 1
   * @maxItems 200
   */
  readonly command?: readonly string[];
  /**
   * For `script`: its steps, by story.
   */
  readonly script?: {};
  readonly model?: string;
  readonly maxTurns?: number;
  readonly env?: {
    [k: string]: string;
  };
}
/**
 * Limits; an absent one has its default.
 */
export interface RequestLimits {
  /**
   * Default 15 min.
   */
  readonly idleMs?: number;
  /**
   * Default 30 min.
   */
  readonly toolMs?: number;
  /**
   * Default 60 min.
   */
  readonly storyMs?: number;
  /**
   * Default 6 h.
   */
  readonly wallClockMs?: number;
  /**
   * Default 10 min.
   */
  readonly checkMs?: number;
  /**
   * Default 60 s.
   */
  readonly snapshotMs?: number;
  /**
   * Default 2.
   */
  readonly maxRepairs?: number;
  /**
   * The maximum number of tries of a story whose agent crashed. Default 2.
   */
  readonly attempts?: number;
  /**
   * Default 1 GiB.
   */
  readonly homeBytes?: number;
  /**
   * Default: no limit of its own.
   */
  readonly diskBytes?: number;
  /**
   * New and changed files that a task may commit. Default 50 000.
   */
  readonly workFiles?: number;
  /**
   * The maximum size of these files in total. Default 1 GiB.
   */
  readonly workBytes?: number;
  /**
   * The maximum size of one of these files. Default 500 MiB.
   */
  readonly workFileBytes?: number;
}
/**
 * The reason for rework of a story: the previous result is not good enough.
 */
export interface Evidence {
  readonly storyId: StoryId;
  /**
   * The explanation for the agent.
   */
  readonly message: string;
  /**
   * Whether the previous work is still there; then the adapter continues the conversation.
   */
  readonly isKept: boolean;
  /**
   * The conversation in which the agent did that work; null when there is none.
   */
  readonly conversation: null | ConversationName;
}
/**
 * Credentials, which the adapter keeps in memory, never writes, and passes only to the agent's environment.
 */
export interface Credentials {
  readonly type: "credentials";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly env: {
      [k: string]: string;
    };
  };
}
/**
 * The acknowledgement that everything up to `seq` is durable on the host.
 */
export interface Ack {
  readonly type: "ack";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly seq: number;
  };
}
/**
 * Cancels the run: the adapter exports the commits so far, and ends with `completion` `stopped`. Before a request was accepted there is no run: the supervisor exits 143 without a message.
 */
export interface Cancel {
  readonly type: "cancel";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly reason: string;
    /**
     * The time for the agent to end by itself.
     */
    readonly graceMs: number;
  };
}
/**
 * The end of a pause of the container: the adapter adds the time to every deadline.
 */
export interface Resumed {
  readonly type: "resumed";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly pausedMs: number;
  };
}
/**
 * The first line of each attach, and the answer to a task-request. Not journalled.
 */
export interface Hello {
  readonly type: "hello";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly protocol: string;
    readonly adapterVersion: string;
    readonly phase: AdapterPhase;
    readonly lastSeq: number;
    /**
     * Null until the adapter accepts a request.
     */
    readonly agent: {
      readonly kind: string;
      readonly version: string | null;
    } | null;
  };
}
/**
 * A story has a new status. Journalled.
 */
export interface ProgressUpdate {
  readonly type: "progress-update";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq: Seq;
  readonly payload: StoryProgress;
}
export interface StoryProgress {
  readonly storyId: StoryId;
  readonly status: "pending" | "in_progress" | "completed" | "failed" | "skipped";
  /**
   * The agent's own id of the conversation, which a later attempt may continue.
   */
  readonly conversation?: string;
  /**
   * A description of what happened, for the user.
   */
  readonly output: string;
  /**
   * With in_progress: the tip when the story first started.
   */
  readonly from?: string;
  /**
   * With in_progress, when the story first starts: the tree of its files, as verified by the adapter. If it is not the tree of `from`, the host imports no commit of the story.
   */
  readonly tree?: string;
  /**
   * With completed: null when nothing had to change.
   */
  readonly commit?: string | null;
  /**
   * @maxItems 100
   */
  readonly checks?: readonly CheckResult[];
  readonly reason?: AcpReason;
  readonly failedWork?: StoredBundle;
}
/**
 * The result of a check.
 */
export interface CheckResult {
  readonly command: string;
  /**
   * Null when the time limit ended it.
   */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /**
   * The end of its output.
   */
  readonly output: string;
}
export interface AcpReason {
  readonly code: string;
  readonly message: string;
}
/**
 * With failed: the story's work up to its failure.
 */
export interface StoredBundle {
  readonly commit: Commit;
  readonly bundle: OutPath;
  readonly bytes: number;
  readonly sha256: Sha256;
}
/**
 * The agent's activity, for the user: at most four messages a second, of which the newest wins. Journalled.
 */
export interface Activity {
  readonly type: "activity";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq: Seq;
  readonly payload: {
    readonly storyId: StoryId;
    readonly kind: ActivityKind;
    /**
     * One line.
     */
    readonly summary: string;
  };
}
/**
 * Tokens and cost so far, cumulative for the attempt. Journalled.
 */
export interface Usage {
  readonly type: "usage";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq: Seq;
  readonly payload: UsageSoFar;
}
export interface UsageSoFar {
  readonly storyId: StoryId;
  readonly inputTokens: Count;
  readonly outputTokens: Count;
  readonly cacheReadTokens: Count;
  readonly cacheWriteTokens: Count;
  readonly costUsd?: number;
}
/**
 * A notice that a story's commits are stored for the host to fetch. Journalled.
 */
export interface Checkpoint {
  readonly type: "checkpoint";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq: Seq;
  readonly payload: {
    readonly storyId: StoryId;
    readonly commit: Commit;
    /**
     * Everything since the base commit; null when there is no new commit.
     */
    readonly bundle: string | null;
    readonly bytes: number;
    readonly sha256: Sha256OrNull;
  };
}
/**
 * Every five seconds. Not journalled.
 */
export interface Heartbeat {
  readonly type: "heartbeat";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly phase: AdapterPhase;
    readonly storyId?: StoryId;
    /**
     * The time since the agent last wrote output or used noticeable CPU.
     */
    readonly idleMs: number;
    /**
     * Memory of the agent's processes.
     */
    readonly rssBytes: number;
    /**
     * The disk space used by the agent's user, as last measured.
     */
    readonly diskBytes: number;
    /**
     * The peak number of processes and threads in the current turn or check, and their limit.
     */
    readonly processes?: {
      readonly now: number;
      readonly most: number;
    };
  };
}
/**
 * An attempt ends with `completed` or `failed`; `stopped` ends a run of the adapter, and the attempt continues later. Journalled.
 */
export interface Completion {
  readonly type: "completion";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq: Seq;
  readonly payload: {
    readonly status: "completed" | "failed" | "stopped";
    readonly prUrl: string | null;
    /**
     * @maxItems 50
     */
    readonly errors: readonly string[];
    readonly head: CommitOrNull;
    readonly bundle: OutPathOrNull;
    readonly sha256: Sha256OrNull;
  };
}
/**
 * The adapter cannot work at all; the supervisor exits 2. Journalled, except for the answer to a request that contradicts an accepted one: only the host that sent the request gets it, without `seq`.
 */
export interface ErrorMessage {
  readonly type: "error";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly attempt: Attempt;
  readonly containerId: ContainerId;
  readonly seq?: Seq;
  readonly payload: AcpReason;
}
