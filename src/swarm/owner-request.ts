import type { AdapterMessage } from "../protocol/rules/protocol-messages.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import type { SwarmEvent } from "./worker/owner-services.ts";
import type { RetryPolicy } from "./worker/rules/retry-policy.ts";
import type { Worker } from "./worker/worker.ts";

/** A request that makes this process the owner, which runs the swarm. */
export interface OwnerRequest {
  readonly policy: RetryPolicy;
  /** The names of the failed or stopped workers to retry. */
  readonly retry?: readonly string[];
  /**
   * The branch to merge into each retried worker's results before its agent continues. `integration` means
   * the branch with the swarm's merged results.
   */
  readonly onto?: string;
  /** Whether to archive the worktree's swarm, even if it is unfinished, and begin a new one. */
  readonly force?: boolean;
  /** The ID for a new swarm. Without it, swarm makes an ID. */
  readonly swarmId?: string;
}

/**
 * Callbacks and abort signals between a command and the owner that it runs. The owner calls the callbacks,
 * and the command ends the swarm with the signals.
 */
export interface SwarmRunCallbacks {
  readonly onPlanned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Called after the workers' records have been written to the state file. */
  readonly onBegun: (state: SwarmState) => void;
  /**
   * Aborts with a `HaltRequest` as its reason. The owner then starts no more workers and asks agents to end
   * their turn.
   */
  readonly halt: AbortSignal;
  /** Aborts if the owner must stop all containers at once. */
  readonly stopNow: AbortSignal;
  /** Aborts if only the owner must end. Containers and records stay as they are. */
  readonly signal: AbortSignal;
}
