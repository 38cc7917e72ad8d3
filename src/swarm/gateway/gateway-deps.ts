import type { NamedAgent } from "../../domain/agent-credentials.ts";
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

/** The gateway transport: a shared Unix socket, for sandboxes without a network, or a separate network for each sandbox. */
export type GatewayTransport = "socket" | "network";

/** The stored facts of a swarm's gateway; a new owner needs them because running workers keep their tokens. */
export interface GatewayRecord {
  /** The secret that the workers' tokens are derived from. */
  readonly secret: string;
  readonly road: GatewayTransport | null;
  /** The runtime of the sandboxes for which `road` was probed. */
  readonly runtime?: string;
}

/** The registries and hosts that a worker may reach besides its models, and its budget. */
export interface WorkerRights {
  /** Names of the package registries that the gateway mirrors for it. */
  readonly mirrors: readonly string[];
  readonly allow: readonly { readonly host: string; readonly port: number }[];
  readonly budget: BudgetLimits;
}

/** The parts of a worker that decide its access. */
export type WorkerToAdmit = Pick<Worker, "name" | "slug" | "task" | "request">;

/** Dependencies of the supervisor of a swarm's gateway. */
export interface GatewayDeps {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly containers: Containers;
  readonly networks: Networks;
  readonly volumes: Volumes;
  /** The base image: the gateway's program is in it. */
  readonly image: () => string;
  /** The runtime of workers. */
  readonly runtime: string;
  /** The gateway's runtime, under which networks can be added to a running container. */
  readonly ownRuntime: string;
  readonly connect: (container: string, listener: GatewayListener, signal: AbortSignal) => GatewayConnection;
  readonly record: { find(): Promise<GatewayRecord | null>; keep(note: GatewayRecord): Promise<void> };
  readonly newSecret: () => string;
  /** Returns the keyed hash of a text. */
  readonly sign: (secret: string, text: string) => string;
  readonly hash: (text: string) => string;
  /** Plans the endpoints that these agents call. */
  readonly planEndpoints: (agents: readonly NamedAgent[]) => readonly EndpointPlan[];
  /** Reads the secrets of planned endpoints, each secret once. */
  readonly resolve: (plans: readonly EndpointPlan[]) => Promise<readonly ModelEndpoint[]>;
  readonly mirrors: () => Promise<readonly Mirror[]>;
  readonly prices: readonly ModelPrice[];
  /** The budget of the whole swarm. */
  readonly budget: BudgetLimits;
  readonly rightsOf: (task: WorkerTask) => WorkerRights;
  /** The agent of a task, by its file and the settings. */
  readonly agentOf: (task: WorkerTask) => NamedAgent;
  /** Pauses a worker until its model's rate limit ends. */
  readonly pause: (name: string, until: number) => Promise<void>;
  readonly environment: (agent: NamedAgent, access: GatewayAccess) => Readonly<Record<string, string>>;
  /** Writes a renewed login back to its source. */
  readonly storeLogin: (reference: string, login: RenewedLogin) => void;
  /** The range of addresses for workers' networks. */
  readonly range: string;
  /** Returns the subnets that this machine uses already. */
  readonly routes: () => Promise<readonly string[]>;
  readonly read: () => Promise<SwarmState>;
  /** Returns the workers that an earlier owner gave a container and a request. */
  readonly workersAtWork: () => Promise<readonly WorkerToAdmit[]>;
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  readonly emit: (event: SwarmEvent) => void;
  readonly clock: () => Date;
  readonly signal: AbortSignal;
}
