import type { ProofReport } from "../../contract/proof.ts";
import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { ContainerLimits, Containers } from "../../engine/containers.ts";
import type { Volumes } from "../../engine/networks.ts";
import type { CommitReader } from "../../git/commit-reader-port.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import type { ClockAndRandom } from "../../protocol/clock-and-random.ts";
import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import type { Settings } from "../../settings/rules/settings.ts";
import type { NetworkAccess } from "./network-access.ts";
import type { Worker } from "./worker.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

/** An event that the owner adds to the swarm's event log. */
export interface SwarmEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** What the owner of a swarm needs from the rest of the program. A function asks for the nouns it needs. */
export interface OwnerServices {
  readonly swarm: OwnedSwarm;
  readonly store: SwarmStore;
  readonly sandboxes: WorkerSandboxes;
  readonly repository: OwnerRepository;
  readonly channel: WorkerChannel;
  /**
   * The network access of the workers' sandboxes. A container keeps the network or socket with which it was
   * created.
   */
  readonly networkAccess: NetworkAccess;
  readonly events: OwnerEvents;
  readonly time: OwnerTime;
  readonly proofs: ResultProofs;
  readonly tasks: OwnerTasks;
}

export interface OwnedSwarm {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly settings: Pick<
    Settings,
    | "agent"
    | "agentCommand"
    | "verify"
    | "escalate"
    | "timeout"
    | "work.files"
    | "work.size"
    | "work.fileSize"
  >;
}

/** The state of the swarm. A change is on disk when its promise resolves. */
export interface SwarmStore {
  /** Reads the current state of the swarm. */
  read(): Promise<SwarmState>;
  /** Reads the record of one worker; throws if there is none. */
  record(name: string): Promise<ContainerRecord>;
  /** Changes the record of one worker. */
  change(name: string, change: (record: ContainerRecord) => ContainerRecord): Promise<void>;
  /** Changes the record of one worker after a short delay, in one write with the changes of other workers. */
  changeSoon: SwarmStore["change"];
  /** Changes the state of the swarm. */
  update(change: (state: SwarmState) => SwarmState): Promise<void>;
}

/** The engine, and from what the owner creates the workers' containers. */
export interface WorkerSandboxes {
  /** Whether the engine can pause containers. */
  readonly canPause: boolean;
  readonly containers: Containers;
  readonly volumes: Volumes;
  readonly image: string;
  /** The commit whose files are in the image's workspace. */
  readonly imageCommit: string;
  readonly runtime: string;
  readonly limits: ContainerLimits;
}

export interface OwnerRepository {
  readonly work: WorkRepository;
  readonly commits: Pick<CommitReader, "bundle">;
  /** The author of the commits that agents make. */
  readonly author: { readonly name: string; readonly email: string };
}

export interface OwnerEvents {
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
}

export interface OwnerTime extends Pick<ClockAndRandom, "wait" | "random"> {
  readonly clock: () => Date;
  readonly crashPoint: CrashHook;
  /** Aborted when the owner must end all its work at once, finished or not. */
  readonly signal: AbortSignal;
}

/** Runs the checks of a worker's result in sandboxes where no agent ever ran, and returns the proof report. */
export type ProveResult = (
  worker: Worker,
  result: Pick<ProofReport, "commit" | "attempt">,
  signal: AbortSignal,
) => Promise<ProofReport>;

export interface ResultProofs {
  /** Null if the settings turn proofs off. */
  readonly prove: ProveResult | null;
  /** Returns the last stored proof report about a worker's result; null if there is none. */
  find(slug: string): Promise<ProofReport | null>;
}

export interface OwnerTasks {
  /** Adds the outcome of the worker's task to the ledger, under the checksum of the task file. */
  addToLedger(worker: Worker, outcome: "completed" | "failed"): Promise<void>;
  /** Reads the script of a scripted agent from a file, and parses it. */
  readScript(path: string): Promise<object>;
}
