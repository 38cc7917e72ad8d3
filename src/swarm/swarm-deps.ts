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

/** One task file to carry out, with all facts that are fixed for the attempt. */
export interface Worker {
  /** The name of its container and of its record. */
  readonly name: string;
  readonly slug: string;
  readonly task: WorkerTask;
  /** The commit that the worker's results are based on, in every attempt. */
  readonly base: string;
  /** The request to its adapter, which may be sent more than once. */
  readonly request: TaskRequestPayload;
}

/** A line of the swarm's event log. */
export interface SwarmEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** Dependencies of the owner of a swarm. */
export interface SwarmDeps {
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
  /** The network access of sandboxes; an existing container keeps the connection that it was created with. */
  readonly networkAccess: NetworkAccess;
  /** Reads the current state. */
  readonly read: () => Promise<SwarmState>;
  /** Changes one record; durable when it resolves. */
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  /** Changes one record after a short delay, in one write with other changes. */
  readonly changeSoon: SwarmDeps["change"];
  /** Changes the state; durable when it resolves. */
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  /** Adds a task's end to the ledger, by the content of its file. */
  readonly addToLedger: (worker: Worker, outcome: "completed" | "failed") => Promise<void>;
  /** Proves a result in a sandbox where no agent ever ran; null if proofs are off. */
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
    /** Waits; rejects with the signal's reason when it is aborted. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
    /** Returns a random number from 0 to 1. */
    readonly random: () => number;
  };
  readonly crashPoint: CrashHook;
  /** Aborted to end all work at once, in whatever state it is. */
  readonly signal: AbortSignal;
}
