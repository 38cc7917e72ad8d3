import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { PassPoint } from "../domain/crash-points.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { ProofReport } from "../domain/generated/proof.ts";
import type { ContainerRecord, SwarmState } from "../domain/generated/swarm-state.ts";
import type { WorkerTask } from "../domain/plan.ts";
import type { CommitReader } from "../ports/commit-reader.ts";
import type { ContainerLimits, Containers } from "../ports/containers.ts";
import type { Volumes } from "../ports/networks.ts";
import type { WorkRepository } from "../ports/work-repository.ts";
import type { WorkerPlaces } from "../ports/worker-places.ts";
import type { Doors } from "./doors.ts";

/** One task file that is to be carried out, with all that does not change while it is. */
export interface Worker {
  /** Its container's, and so its record's, name. */
  readonly name: string;
  readonly slug: string;
  readonly task: WorkerTask;
  /** The commit that all of its work goes on from, whatever attempt this is. */
  readonly base: string;
  /** What is asked of its adapter, again and again if need be. */
  readonly request: TaskRequestPayload;
}

/** A line of the swarm's events. */
export interface SwarmEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** What the owner of a swarm acts with. */
export interface SwarmDeps {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly containers: Containers;
  readonly volumes: Volumes;
  readonly places: WorkerPlaces;
  readonly work: WorkRepository;
  readonly commits: Pick<CommitReader, "bundle">;
  readonly image: string;
  readonly runtime: string;
  readonly limits: ContainerLimits;
  /** How sandboxes are connected; one that is there keeps what it was made with. */
  readonly doors: Doors;
  /** The state as it is now. */
  readonly read: () => Promise<SwarmState>;
  /** Changes one record, on the disk when it resolves. */
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  /** The same in a moment, with whatever else is changed until then. */
  readonly changeSoon: SwarmDeps["change"];
  /** Changes the state, on the disk when it resolves. */
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  /** Remembers a task's end by its content. */
  readonly remember: (worker: Worker, outcome: "completed" | "failed") => Promise<void>;
  /** Checks a result where no agent ever was; null where that is not wished. */
  readonly prove:
    | ((
        worker: Worker,
        result: { readonly commit: string; readonly attempt: number },
        signal: AbortSignal,
      ) => Promise<ProofReport>)
    | null;
  /** What the last proof of a worker said. */
  readonly findProof: (slug: string) => Promise<ProofReport | null>;
  readonly tell: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  readonly clock: () => Date;
  readonly timing: {
    /** Rejects with the signal's reason. */
    readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
    /** From 0 to 1. */
    readonly random: () => number;
  };
  readonly passes: PassPoint;
  /** Aborted when nothing more is to be done at all, whatever state things are in. */
  readonly signal: AbortSignal;
}
