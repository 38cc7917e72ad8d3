import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { CrashHook } from "../domain/crash-points.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { ProofReport } from "../domain/generated/proof.ts";
import type { ContainerRecord, SwarmState } from "../domain/generated/swarm-state.ts";
import type { WorkerTask } from "../domain/plan.ts";
import type { CommitReader } from "../ports/commit-reader.ts";
import type { ContainerLimits, Containers } from "../ports/containers.ts";
import type { Volumes } from "../ports/networks.ts";
import type { WorkRepository } from "../ports/work-repository.ts";
import type { WorkerChannel } from "../ports/worker-places.ts";
import type { NetworkAccess } from "./doors.ts";

/** A worker that is ready to run: one task file to carry out, with all facts that are fixed for the attempt. */
export interface Worker {
  /** The name of the worker's container, which also identifies its record. */
  readonly name: string;
  readonly slug: string;
  readonly task: WorkerTask;
  /** The commit on which the worker's results are based. Only a rework changes it. */
  readonly base: string;
  /** The request to the worker's adapter. The owner may send it more than once. */
  readonly request: TaskRequestPayload;
}

/** An event for the swarm's event log. */
export interface SwarmEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** The dependencies of the owner of a swarm. */
export interface SwarmOwnerDeps {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly containers: Containers;
  readonly volumes: Volumes;
  readonly channel: WorkerChannel;
  readonly work: WorkRepository;
  readonly commits: Pick<CommitReader, "bundle">;
  readonly image: string;
  readonly runtime: string;
  readonly limits: ContainerLimits;
  /**
   * The network access of the workers' sandboxes. An existing container keeps the connection with which it
   * was created.
   */
  readonly networkAccess: NetworkAccess;
  /** Reads the current state of the swarm. */
  readonly read: () => Promise<SwarmState>;
  /** Changes the record of one worker. The change is durable when the promise resolves. */
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  /** Changes the record of one worker after a short delay, in one write with the changes of other workers. */
  readonly changeSoon: SwarmOwnerDeps["change"];
  /** Changes the state of the swarm. The change is durable when the promise resolves. */
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  /** Adds the outcome of a task to the ledger, under the checksum of the task's file. */
  readonly addToLedger: (worker: Worker, outcome: "completed" | "failed") => Promise<void>;
  /** Proves a result in a sandbox where no agent ever ran; null if the settings turn proofs off. */
  readonly prove:
    | ((
        worker: Worker,
        result: { readonly commit: string; readonly attempt: number },
        signal: AbortSignal,
      ) => Promise<ProofReport>)
    | null;
  /** Returns the last proof of a worker's result; null if there is none. */
  readonly findProof: (slug: string) => Promise<ProofReport | null>;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  readonly clock: () => Date;
  readonly timing: {
    /** Waits for a time in milliseconds. If the signal is aborted, rejects with the signal's reason. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
    /** Returns a random number from 0 to 1, for the jitter of waits. */
    readonly random: () => number;
  };
  readonly crashPoint: CrashHook;
  /** Aborted to end all work at once, whatever its progress. */
  readonly signal: AbortSignal;
}
