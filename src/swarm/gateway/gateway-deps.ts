import type { AgentSpec } from "../../domain/agent-credentials.ts";
import type { GatewayAccess } from "../../domain/door-environment.ts";
import type {
  BudgetLimits,
  Mirror,
  ModelEndpoint,
  ModelPrice,
  RenewedLogin,
} from "../../domain/generated/gateway.ts";
import type { ContainerRecord, SwarmState } from "../../domain/generated/swarm-state.ts";
import type { EndpointPlan } from "../../domain/model-endpoints.ts";
import type { WorkerTask } from "../../domain/plan.ts";
import type { Containers } from "../../ports/containers.ts";
import type { GatewayConnection, GatewayListener } from "../../ports/gateway-line.ts";
import type { Networks, Volumes } from "../../ports/networks.ts";
import type { SwarmEvent, Worker } from "../swarm-deps.ts";

/**
 * How workers reach the gateway. `socket`: a shared Unix socket, for sandboxes without a network. `network`:
 * a separate network for each sandbox.
 */
export type GatewayTransport = "socket" | "network";

/**
 * The stored facts about a swarm's gateway. A new owner needs them, because running workers keep their
 * tokens.
 */
export interface GatewayRecord {
  /** The secret from which the workers' tokens are derived. */
  readonly secret: string;
  readonly road: GatewayTransport | null;
  /** The workers' runtime for which a probe found `road`. Another runtime needs a new probe. */
  readonly runtime?: string;
}

/** The hosts and registries that a worker may reach in addition to its models, and its budget. */
export interface WorkerRights {
  /** The names of the package registries that the gateway mirrors for the worker. */
  readonly mirrors: readonly string[];
  readonly allow: readonly { readonly host: string; readonly port: number }[];
  readonly budget: BudgetLimits;
}

/** The parts of a worker that decide its network access. */
export type WorkerToAdmit = Pick<Worker, "name" | "slug" | "task" | "request">;

/** The dependencies of the supervisor of a swarm's gateway. */
export interface GatewayDeps {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly containers: Containers;
  readonly networks: Networks;
  readonly volumes: Volumes;
  /** Returns the tag of the base image, which contains the gateway's program. */
  readonly image: () => string;
  /** The runtime of the workers' containers. */
  readonly runtime: string;
  /**
   * The runtime of the gateway's container. The runtime must allow the engine to add networks to a running
   * container.
   */
  readonly ownRuntime: string;
  readonly connect: (container: string, listener: GatewayListener, signal: AbortSignal) => GatewayConnection;
  readonly record: { find(): Promise<GatewayRecord | null>; keep(note: GatewayRecord): Promise<void> };
  readonly newSecret: () => string;
  /** Returns a keyed hash of the text, with the secret as the key. */
  readonly sign: (secret: string, text: string) => string;
  readonly hash: (text: string) => string;
  /** Plans the model endpoints that the agents call. */
  readonly planEndpoints: (agents: readonly AgentSpec[]) => readonly EndpointPlan[];
  /** Reads the secrets of planned endpoints. Each secret is read only once. */
  readonly resolve: (plans: readonly EndpointPlan[]) => Promise<readonly ModelEndpoint[]>;
  readonly mirrors: () => Promise<readonly Mirror[]>;
  readonly prices: readonly ModelPrice[];
  /** The budget of the whole swarm. */
  readonly budget: BudgetLimits;
  readonly rightsOf: (task: WorkerTask) => WorkerRights;
  /** Returns the agent of a task, by its task file and the settings. */
  readonly agentOf: (task: WorkerTask) => AgentSpec;
  /** Pauses a worker until its model's rate limit ends. `until` is in milliseconds since 1970. */
  readonly pause: (name: string, until: number) => Promise<void>;
  readonly environment: (agent: AgentSpec, access: GatewayAccess) => Readonly<Record<string, string>>;
  /** Stores a renewed login in the place that `reference` names. */
  readonly storeLogin: (reference: string, login: RenewedLogin) => void;
  /** The range of IP addresses for workers' networks. */
  readonly range: string;
  /** Returns the subnets that this machine already uses. */
  readonly routes: () => Promise<readonly string[]>;
  readonly read: () => Promise<SwarmState>;
  /** Returns the workers that already have a container and a request from an earlier owner. */
  readonly workersAtWork: () => Promise<readonly WorkerToAdmit[]>;
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  readonly emit: (event: SwarmEvent) => void;
  readonly clock: () => Date;
  readonly signal: AbortSignal;
}
