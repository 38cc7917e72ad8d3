import type { NamedAgent } from "../../domain/agent-credentials.ts";
import type { DoorAccess } from "../../domain/door-environment.ts";
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
import type { GatewayLine, GatewayListener } from "../../ports/gateway-line.ts";
import type { Networks, Volumes } from "../../ports/networks.ts";
import type { SwarmEvent, Worker } from "../swarm-deps.ts";

/** How sandboxes come to the gateway: through a socket that they see, with no network at all, or each by a network of its own. */
export type Road = "socket" | "network";

/** What is to be remembered of a swarm's gateway: workers that run know it by this. */
export interface GatewayNote {
  /** Of which the workers' tokens are made. */
  readonly secret: string;
  readonly road: Road | null;
  /** Of the sandboxes for which that road was found. */
  readonly runtime?: string;
}

/** What a worker is let out to, beside its models. */
export interface WorkerRights {
  /** Names of the registries that it reads. */
  readonly mirrors: readonly string[];
  readonly allow: readonly { readonly host: string; readonly port: number }[];
  readonly budget: BudgetLimits;
}

/** A worker as far as it is known to whom it must be let out. */
export type AskingWorker = Pick<Worker, "name" | "slug" | "task" | "request">;

/** What the gateway of a swarm is kept with. */
export interface GatewayDeps {
  readonly swarmId: string;
  readonly projectId: string;
  readonly worktree: string;
  readonly containers: Containers;
  readonly networks: Networks;
  readonly volumes: Volumes;
  /** The base image: the gateway's program is in it. */
  readonly image: () => string;
  /** Of workers. */
  readonly runtime: string;
  /** Of the gateway: networks can be added to a container of this one while it runs. */
  readonly ownRuntime: string;
  readonly hold: (container: string, listener: GatewayListener, signal: AbortSignal) => GatewayLine;
  readonly note: { find(): Promise<GatewayNote | null>; keep(note: GatewayNote): Promise<void> };
  readonly newSecret: () => string;
  /** The keyed hash of a text. */
  readonly sign: (secret: string, text: string) => string;
  readonly hash: (text: string) => string;
  /** Which endpoints these agents call. */
  readonly planEndpoints: (agents: readonly NamedAgent[]) => readonly EndpointPlan[];
  /** With the secrets themselves; each is read once. */
  readonly resolve: (plans: readonly EndpointPlan[]) => Promise<readonly ModelEndpoint[]>;
  readonly mirrors: () => Promise<readonly Mirror[]>;
  readonly prices: readonly ModelPrice[];
  /** Of the whole swarm. */
  readonly budget: BudgetLimits;
  readonly rightsOf: (task: WorkerTask) => WorkerRights;
  /** By its file and the settings. */
  readonly agentOf: (task: WorkerTask) => NamedAgent;
  /** Halts a worker until its model takes calls again. */
  readonly pause: (name: string, until: number) => Promise<void>;
  readonly environment: (agent: NamedAgent, access: DoorAccess) => Readonly<Record<string, string>>;
  /** Writes a renewed login back to where it came from. */
  readonly keepLogin: (reference: string, login: RenewedLogin) => void;
  /** The range that workers' networks are taken from, and what this machine uses already. */
  readonly range: string;
  readonly routes: () => Promise<readonly string[]>;
  readonly read: () => Promise<SwarmState>;
  /** Those that have a container, and were asked to do something before this owner came. */
  readonly atWork: () => Promise<readonly AskingWorker[]>;
  readonly change: (name: string, change: (record: ContainerRecord) => ContainerRecord) => Promise<void>;
  readonly update: (change: (state: SwarmState) => SwarmState) => Promise<void>;
  readonly tell: (event: SwarmEvent) => void;
  readonly clock: () => Date;
  readonly signal: AbortSignal;
}
