import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import type { ContainerNetwork } from "../engine/containers.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import type { Settings } from "../settings/rules/settings.ts";
import type { OwnerEvents, SwarmStore } from "../swarm/worker/owner-services.ts";
import type { WorkerTask } from "../tasks/rules/plan.ts";
import type { AgentAccess } from "./agent-access.ts";

/** The swarm whose sandboxes get network access. */
export interface SwarmOnNetwork {
  readonly state: SwarmState;
  readonly settings: Settings;
  readonly access: AgentAccess;
  readonly engine: ContainerEngine;
  /** The container runtime of the workers. */
  readonly runtime: string;
  /** The names of all container runtimes of the engine. */
  readonly runtimes: readonly string[];
  /** The container network that the sandboxes use if the swarm has no gateway. */
  readonly network: ContainerNetwork;
}

/** The owner of the swarm, as the gateway's supervisor calls it. */
export interface NetworkOwner extends Pick<OwnerEvents, "emit"> {
  readonly store: SwarmStore;
  /** Aborted when the owner must end all its work at once. */
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
  /**
   * Finds the task of the given worker, in a stored task request or in the task file. Returns null if neither
   * can be read.
   */
  readonly recall: (record: ContainerRecord) => Promise<WorkerTask | null>;
}
