// Made from schemas/swarm-state.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Uuid = string;
/**
 * A command that another process sent to the owner.
 */
export type SwarmWish = null | "stop" | "pause" | "unpause";
export type Time = string;
export type ContainerStatus = "pending" | "running" | "completed" | "failed" | "stopped";
export type Count = number;
export type Commit = string;
export type StoryStatus = "pending" | "in_progress" | "completed" | "failed" | "skipped";
/**
 * A command that another process sent to the owner.
 */
export type ContainerWish = null | "stop" | "pause" | "unpause" | "retry";

/**
 * `.aimi/swarm-state.json`: the state of the swarm of one worktree.
 */
export interface SwarmState {
  readonly version: 1;
  /**
   * A counter that grows by one with each write.
   */
  readonly revision: number;
  readonly swarmId: Uuid;
  readonly project: ProjectRef;
  /**
   * The only engine of this swarm; null until a worker is assigned to one.
   */
  readonly engine: null | EngineRef;
  readonly wish: SwarmWish;
  readonly createdAt: Time;
  readonly updatedAt: Time;
  readonly containers: readonly ContainerRecord[];
  readonly gateway?: GatewayRef;
}
export interface ProjectRef {
  readonly id: string;
  readonly slug: string;
  readonly root: string;
}
export interface EngineRef {
  readonly name: string;
  readonly endpoint: string;
  readonly id: string;
  readonly isolation: "strong" | "userns" | "shared-kernel" | null;
  /**
   * The filter of system calls in its sandboxes, as text.
   */
  readonly systemCalls?: string;
}
export interface ContainerRecord {
  /**
   * The engine's id of the container; null until it is created.
   */
  readonly containerId: null | string;
  readonly containerName: string;
  readonly taskFilePath: string;
  readonly branchName: string;
  readonly status: ContainerStatus;
  readonly storyProgress: StoryProgress;
  readonly createdAt: Time;
  readonly updatedAt: Time;
  readonly prUrl: null | string;
  /**
   * The owner's process id while the owner is attached.
   */
  readonly acpPid: null | number;
  readonly attempt: number;
  readonly baseCommit: null | Commit;
  readonly stories: readonly StoryRecord[];
  readonly lastSeq: number;
  readonly reason: null | Reason;
  readonly exitCode: number | null;
  readonly usage: null | Usage;
  readonly creating: null | Creating;
  readonly paused: null | Paused;
  readonly collecting: null | RefMove;
  readonly collected: null | Collected;
  readonly branch: null | BranchMove;
  readonly proof: null | Proof;
  readonly wish: ContainerWish;
  readonly startedAt: null | Time;
  readonly finishedAt: null | Time;
  /**
   * @maxItems 10
   */
  readonly denied?: readonly DeniedRequest[];
  /**
   * @maxItems 100
   */
  readonly earlier?: readonly EarlierAttempt[];
}
export interface StoryProgress {
  readonly total: Count;
  readonly completed: Count;
  readonly failed: Count;
  readonly inProgress: Count;
  readonly pending: Count;
  readonly skipped: Count;
}
export interface StoryRecord {
  readonly id: string;
  readonly status: StoryStatus;
  readonly commit: null | Commit;
  readonly attempt: number;
  readonly reason: null | Reason;
  readonly usage?: Usage;
}
export interface Reason {
  readonly code: string;
  readonly message: string;
}
export interface Usage {
  readonly inputTokens: Count;
  readonly outputTokens: Count;
  readonly cacheReadTokens: Count;
  readonly cacheWriteTokens: Count;
  readonly costUsd: number | null;
  readonly unpricedTokens?: Count;
  /**
   * Whether the gateway counted it; otherwise the agent reported it.
   */
  readonly isMetered?: boolean;
}
export interface Creating {
  readonly since: Time;
}
export interface Paused {
  readonly reason: string;
  readonly since: Time;
  readonly until: null | Time;
}
export interface RefMove {
  readonly ref: string;
  readonly old: string | null;
  readonly new: string;
}
export interface Collected {
  readonly commit: Commit;
  readonly ref: string;
  readonly at: Time;
}
export interface BranchMove {
  readonly ref: string;
  readonly old: string | null;
  readonly new: string;
  readonly done: boolean;
}
export interface Proof {
  readonly verdict: "proved" | "not-worse" | "broken" | "not-checked";
  readonly commit: Commit;
  readonly at: Time;
}
/**
 * A worker's request that the gateway denied.
 */
export interface DeniedRequest {
  readonly what: string;
  readonly why: string;
  readonly times: number;
}
/**
 * The end of an attempt that was followed by another one.
 */
export interface EarlierAttempt {
  readonly attempt: number;
  readonly code: string;
  readonly message: string;
  readonly at: Time;
}
/**
 * The gateway, the sandboxes' only network access; absent until one is needed.
 */
export interface GatewayRef {
  /**
   * The gateway transport: a socket, for sandboxes without any network, or a separate network for each sandbox.
   */
  readonly road: "socket" | "network";
}
