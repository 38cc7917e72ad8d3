import type { WorkerHandle } from "./worker/supervise-worker.ts";
import type { HaltRequest } from "./worker/worker.ts";

/** What the owner keeps in memory about the workers that it supervises. */
export interface OwnerLoopState {
  readonly running: Map<string, WorkerHandle>;
  /**
   * By the worker's name, the reason why a worker waits that was last reported to the user. It is reported
   * again only when it changes.
   */
  readonly waitReasonByName: Map<string, string>;
  /**
   * The names of the workers that this owner has started, or that the user stopped before they were started.
   * The owner starts them again only if the user orders a resume or a retry.
   */
  readonly startedNames: Set<string>;
  /** Returns whether the owner is ending and therefore starts no more workers. */
  readonly isEnding: () => boolean;
  /** Asks all running workers to stop, and starts no others. A later resume continues them. */
  readonly halt: (halt: HaltRequest) => void;
}
