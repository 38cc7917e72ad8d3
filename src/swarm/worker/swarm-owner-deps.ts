import type { ProofReport } from "../../contract/proof.ts";
import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { ContainerLimits, Containers } from "../../engine/containers.ts";
import type { Volumes } from "../../engine/networks.ts";
import type { CommitReader } from "../../git/commit-reader-port.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import type { NetworkAccess } from "./network-access.ts";
import type { Worker } from "./worker.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

/** An event that the owner adds to the swarm's event log. */
export interface SwarmEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** What the owner of a swarm needs from the rest of the program. */
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
   * The network access of the workers' sandboxes. A container keeps the network or socket with which it was
   * created.
   */
  readonly networkAccess: NetworkAccess;
  /** Reads the current state of the swarm. */
  readonly read: () => Promise<SwarmState>;
  /** Changes the record of one worker. The change is on disk when the promise resolves. */
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  /** Changes the record of one worker after a short delay, in one write with the changes of other workers. */
  readonly changeSoon: SwarmOwnerDeps["change"];
  /** Changes the state of the swarm. The change is on disk when the promise resolves. */
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  /** Adds the outcome of the worker's task to the ledger, under the checksum of the task file. */
  readonly addToLedger: (worker: Worker, outcome: "completed" | "failed") => Promise<void>;
  /**
   * Runs the checks of a worker's result in sandboxes where no agent ever ran, and returns the proof report.
   * Null if the settings turn proofs off.
   */
  readonly prove:
    | ((
        worker: Worker,
        result: { readonly commit: string; readonly attempt: number },
        signal: AbortSignal,
      ) => Promise<ProofReport>)
    | null;
  /** Returns the last stored proof report about a worker's result; null if there is none. */
  readonly findProof: (slug: string) => Promise<ProofReport | null>;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  readonly clock: () => Date;
  readonly timing: {
    /** Waits for `ms` milliseconds. If the signal is aborted, rejects with the signal's reason. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
    /** Returns a random number from 0 to 1, by which waiting times vary (jitter). */
    readonly random: () => number;
  };
  readonly crashPoint: CrashHook;
  /** Aborted when the owner must end all its work at once, finished or not. */
  readonly signal: AbortSignal;
}
