// Made from schemas/acp.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * One line between host and adapter. What goes to the adapter is at most 8 MiB long with its line break, what comes from it at most 64 KiB.
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
 * Empty until the first task-request told it.
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
 * The work. The same request again gets the same answer and starts nothing twice; a different one is REQUEST_CONFLICT.
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
   * Where the task file lies in the repository; read there if `taskFile` is absent.
   */
  readonly taskFilePath: string;
  readonly branchName: string;
  /**
   * `image:` when the tree is in the image, `bundle:/aimi/in/<file>` when it was put there before the start. Others are resolved on the host.
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
   * Where the branch starts; the tree's own commit when absent.
   */
  readonly baseCommit?: string;
  readonly author?: CommitAuthor;
  readonly agent?: RequestedAgent;
  /**
   * Checks of the whole task, run after each story's own.
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
   * A template instead of the built-in one.
   */
  readonly prompt?: string;
}
/**
 * In whose name work is committed: the user of the host's repository.
 */
export interface CommitAuthor {
  readonly name: string;
  readonly email: string;
}
export interface RequestedAgent {
  readonly kind: string;
  /**
   * Program and arguments, for `acp` and `command`.
   *
   * @minItems 1
   * @maxItems 200
   */
  readonly command?: readonly string[];
  /**
   * For `script`: what it does, by story.
   */
  readonly script?: {};
  readonly model?: string;
  readonly maxTurns?: number;
  readonly env?: {
    [k: string]: string;
  };
}
/**
 * What is absent has its default.
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
   * How often a story whose agent broke is tried. Default 2.
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
   * What these may hold in all. Default 1 GiB.
   */
  readonly workBytes?: number;
  /**
   * What one of these may hold. Default 500 MiB.
   */
  readonly workFileBytes?: number;
}
/**
 * Why a story is taken up again: what was tried before is not good enough.
 */
export interface Evidence {
  readonly storyId: StoryId;
  /**
   * For the agent.
   */
  readonly message: string;
  /**
   * Whether what was made is still there; then the conversation is gone on with.
   */
  readonly isKept: boolean;
  /**
   * The one in which it was made; null where there is none.
   */
  readonly conversation: null | ConversationName;
}
/**
 * Kept in memory, never written; given to the agent's environment only.
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
 * Everything up to `seq` is durable on the host.
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
 * Commits so far are exported; the run ends with `completion` `stopped`. While no request was accepted there is no run: the supervisor exits 143 without a word.
 */
export interface Cancel {
  readonly type: "cancel";
  readonly timestamp: Timestamp;
  readonly swarmId: SwarmId;
  readonly containerId: ContainerId;
  readonly payload: {
    readonly reason: string;
    /**
     * How long the agent may take to end by itself.
     */
    readonly graceMs: number;
  };
}
/**
 * The container was paused: the time is added to every deadline.
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
     * Null until a request was accepted.
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
   * The agent's own name of the conversation, which a later attempt may go on with.
   */
  readonly conversation?: string;
  /**
   * What happened, for a person.
   */
  readonly output: string;
  /**
   * With in_progress: the tip when the story first started.
   */
  readonly from?: string;
  /**
   * With in_progress, when the story first starts: the tree of its files, as the adapter has checked it. The host takes in no commit of the story where this is not the tree of `from`.
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
 * A check that was run.
 */
export interface CheckResult {
  readonly command: string;
  /**
   * Null when it was ended by its time limit.
   */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /**
   * The end of what it wrote.
   */
  readonly output: string;
}
export interface AcpReason {
  readonly code: string;
  readonly message: string;
}
/**
 * With failed: what was there when it failed.
 */
export interface StoredBundle {
  readonly commit: Commit;
  readonly bundle: OutPath;
  readonly bytes: number;
  readonly sha256: Sha256;
}
/**
 * What the agent is doing, for people: at most four a second are kept, the newest wins. Journalled.
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
 * A story's commits are stored for the host to fetch. Journalled.
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
     * How long the agent has said nothing and done next to nothing.
     */
    readonly idleMs: number;
    /**
     * Memory of the agent's processes.
     */
    readonly rssBytes: number;
    /**
     * What the agent's user wrote, as last measured.
     */
    readonly diskBytes: number;
    /**
     * The most processes and threads at once in the turn or check that is on, and how many there may be.
     */
    readonly processes?: {
      readonly now: number;
      readonly most: number;
    };
  };
}
/**
 * `completed` and `failed` are the last message of an attempt; `stopped` ends only a run. Journalled.
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
 * It cannot work at all; the supervisor exits 2. Journalled, except in answer to a request that contradicts an accepted one: that goes, without `seq`, to the asker alone.
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
