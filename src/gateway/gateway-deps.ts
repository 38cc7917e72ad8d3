import type { AgentSpec } from "../agents/agent-credentials.ts";
import type { WorkerGatewayAccess } from "../agents/gateway-environment.ts";
import type { EndpointPlan } from "../agents/model-endpoints.ts";
import type { BudgetLimits, Mirror, ModelEndpoint, ModelPrice, RenewedLogin } from "../contract/gateway.ts";
import type { Containers } from "../engine/containers.ts";
import type { Networks, Volumes } from "../engine/networks.ts";
import type { OwnedSwarm, OwnerEvents, OwnerTime, SwarmStore } from "../swarm/worker/owner-services.ts";
import type { Worker } from "../swarm/worker/worker.ts";
import type { WorkerTask } from "../tasks/rules/plan.ts";
import type { GatewayConnection, GatewayListener } from "./gateway-connection.ts";

/**
 * How workers reach the gateway: through a shared Unix socket, if the sandboxes have no network, or through a
 * separate network for each sandbox.
 */
export type GatewayTransport = "socket" | "network";

/**
 * What swarm stores about the gateway of a swarm. The next owner needs the stored secret, because running
 * workers keep their tokens.
 */
export interface GatewayRecord {
  /** The secret from which the workers' tokens are derived. */
  readonly secret: string;
  readonly road: GatewayTransport | null;
  /**
   * The container runtime of the workers with which a probe found `road`. With another runtime, a new probe
   * is needed.
   */
  readonly runtime?: string;
}

/**
 * The budget of a worker, and the hosts and package registries that the worker may reach in addition to its
 * models.
 */
export interface WorkerRights {
  /** The names of the package registries that the worker may reach through the gateway. */
  readonly mirrors: readonly string[];
  readonly allow: readonly { readonly host: string; readonly port: number }[];
  readonly budget: BudgetLimits;
}

/** The fields of a worker that decide its network access. */
export type WorkerToAdmit = Pick<Worker, "name" | "slug" | "task" | "request">;

/** What the supervisor of a swarm's gateway needs from the rest of the program. */
export interface GatewayDeps {
  readonly swarm: Pick<OwnedSwarm, "swarmId" | "projectId" | "worktree">;
  readonly store: Pick<SwarmStore, "read" | "record" | "change" | "update">;
  readonly sandboxes: GatewaySandboxes;
  readonly policy: GatewayPolicy;
  readonly secrets: GatewaySecrets;
  readonly connect: (listener: GatewayListener) => GatewayConnection;
  readonly record: { find(): Promise<GatewayRecord | null>; keep(note: GatewayRecord): Promise<void> };
  /**
   * Returns the workers for which an earlier owner has already created a container and stored a task request.
   */
  readonly workersAtWork: () => Promise<readonly WorkerToAdmit[]>;
  readonly events: Pick<OwnerEvents, "emit">;
  readonly time: Pick<OwnerTime, "clock" | "signal">;
}

export interface GatewaySandboxes {
  readonly containers: Containers;
  /** Whether the engine can pause containers. */
  readonly canPause: boolean;
  readonly networks: Networks;
  readonly volumes: Volumes;
  /** The container runtime of the workers. */
  readonly runtime: string;
  /**
   * The container runtime of the gateway. With this runtime, the engine must be able to connect a running
   * container to a further network.
   */
  readonly ownRuntime: string;
  /** The range of IP addresses from which workers' networks get their subnets. */
  readonly subnetRange: string;
}

/** What the settings and the task files allow to agents. */
export interface GatewayPolicy {
  readonly prices: readonly ModelPrice[];
  /** The budget of all workers of the swarm together. */
  readonly budget: BudgetLimits;
  rightsOf(task: WorkerTask): WorkerRights;
  /** Returns the agent that the task file and the settings choose for a task. */
  agentOf(task: WorkerTask): AgentSpec;
  environment(agent: AgentSpec, access: WorkerGatewayAccess): Readonly<Record<string, string>>;
  /** Plans which model endpoints the gateway needs for the given agents. */
  planEndpoints(agents: readonly AgentSpec[]): readonly EndpointPlan[];
}

export interface GatewaySecrets {
  /** Returns the planned endpoints with their secrets. Reads each secret only once. */
  resolve(plans: readonly EndpointPlan[]): Promise<readonly ModelEndpoint[]>;
  mirrors(): Promise<readonly Mirror[]>;
  /** Stores a login that the gateway renewed in the place that `reference` names. */
  storeLogin(reference: string, login: RenewedLogin): void;
}
