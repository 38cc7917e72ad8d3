import type { NamedAgent } from "../../domain/agent-credentials.ts";
import { gatewayPort } from "../../domain/door-port.ts";
import { isError, SwarmError } from "../../domain/errors.ts";
import { gatewayNames, workerNetworkName } from "../../domain/gateway-names.ts";
import type { AdmissionPayload, AdmittedWorker, GatewayHello } from "../../domain/generated/gateway.ts";
import type { WorkerSubnet } from "../../domain/worker-subnets.ts";
import type { GatewayLine } from "../../ports/gateway-line.ts";
import type { NetworkAccess, WorkerNetwork } from "../doors.ts";
import type { Worker } from "../swarm-deps.ts";
import type {
  AskingWorker,
  GatewayDeps,
  GatewayNote,
  GatewayTransport,
  WorkerRights,
} from "./gateway-deps.ts";
import { trackGatewayUsage } from "./hear-gateway.ts";
import { knownModels } from "./known-models.ts";
import { probeTransport, standUpGateway } from "./stand-up-gateway.ts";
import { workerNetworks } from "./worker-networks.ts";

/** The owner's handle of a swarm's gateway. */
export interface SwarmGateway extends NetworkAccess {
  /** Removes the gateway. Its volume, with the spending, stays until the swarm `isFinished`. */
  end(how: { readonly isFinished: boolean }): Promise<void>;
  /** Closes the connection, and leaves the gateway running. */
  release(): Promise<void>;
}

/** The connection and facts of a running gateway. */
interface Standing {
  readonly line: GatewayLine;
  readonly note: GatewayNote & { readonly road: GatewayTransport };
}

type ReachedByWorker = WorkerRights & Pick<AdmittedWorker, "endpoints">;

const sealed: WorkerNetwork = { network: { kind: "none" }, volumes: [], env: {} };

interface LetIn {
  readonly admitted: Omit<AdmittedWorker, "spent">;
  /** The URL at which the worker reaches the gateway. */
  readonly door: string;
}

const admitMs = 60_000;
const settleMs = 5_000;
const onLoopback = `http://127.0.0.1:${gatewayPort}`;

/** Supervises a swarm's gateway: creates it when the first worker needs it, and again whenever it is gone. */
export function superviseGateway(deps: GatewayDeps): SwarmGateway {
  const names = gatewayNames(deps);
  const networks = workerNetworks(deps);
  const models = knownModels(deps);
  const hearing = trackGatewayUsage(deps, models.isHost);
  const letIn = new Map<string, LetIn>();
  // The last reason for a lost connection; null while the gateway answers.
  let lost: string | null = null;
  let standing: Standing | null = null;
  let beginning: Promise<Standing> | null = null;
  let registries: AdmissionPayload["mirrors"] = [];
  const listener = {
    ...hearing.listener,
    onHello(hello: GatewayHello): void {
      lost = null;
      hearing.listener.onHello(hello);
    },
    onLost(why: string): void {
      lost = why;
      hearing.listener.onLost(why);
    },
    onLogin: models.keepLogin,
    admission,
  };

  return {
    async open(worker) {
      const rights = await rightsOf(worker);
      if (rights === null) return sealed;
      const { note } = await stand();
      const subnet = note.road === "network" ? await networks.open(worker, deps.signal) : null;
      hearing.watch(worker.slug, { name: worker.name, budget: rights.budget });
      letIn.set(worker.slug, letInOf(worker, rights, note, subnet));
      await admit();
      return doorOf(worker, subnet);
    },

    async settled() {
      if (standing === null) return;
      // A gateway that does not answer in time reports the rest at the next hand-over.
      const within = AbortSignal.any([deps.signal, AbortSignal.timeout(settleMs)]);
      await standing.line.handOver(within).catch(() => {});
      await hearing.written();
    },

    async close(worker, { isGone }) {
      if (letIn.delete(worker.slug)) {
        hearing.forget(worker.slug);
        await admit(settleMs).catch(() => {});
      }
      // Also the network of a worker that an earlier owner admitted.
      if (isGone && standing?.note.road !== "socket") await networks.close(worker, deps.signal);
    },

    environment(worker) {
      const known = letIn.get(worker.slug);
      if (known === undefined || standing === null) return null;
      const { endpoints, mirrors } = known.admitted;
      return deps.environment(agentOf(worker), {
        ...{ door: known.door, token: tokenOf(standing.note, worker), mirrors },
        endpoints: models.endpoints.filter(({ name }) => endpoints.includes(name)),
      });
    },

    shut: hearing.shut,
    limitedUntil: ({ task }) => hearing.limitedUntil(models.namesOf(deps.agentOf(task))),

    async end({ isFinished }) {
      const isThere = (await deps.containers.look(names.container, undefined, deps.signal)) !== null;
      if (beginning === null && !isThere) return;
      await release();
      await deps.containers.remove(names.container, deps.signal);
      // Sandboxes that are kept for inspection still mount the socket's volume.
      if (isFinished) await deps.volumes.remove(names.volume, deps.signal);
      await deps.volumes.remove(names.door, deps.signal).catch(unlessInUse);
      deps.tell({ event: "gateway", status: "removed" });
    },

    release,
  };

  async function release(): Promise<void> {
    const held = standing ?? (await beginning?.catch(() => null));
    await held?.line[Symbol.asyncDispose]();
    await hearing.written();
  }

  /** Starts the gateway once for all callers; after a failure, the next caller tries again. */
  function stand(): Promise<Standing> {
    beginning ??= begin().then(
      (begun) => {
        standing = begun;
        return begun;
      },
      (error: unknown) => {
        beginning = null;
        throw error;
      },
    );
    return beginning;
  }

  async function begin(): Promise<Standing> {
    const [known, mirrors] = [await deps.note.find(), await deps.mirrors()];
    await hearing.begin();
    const fresh = known ?? { secret: deps.newSecret(), road: null };
    const road = fresh.runtime === deps.runtime ? fresh.road : null;
    if (known === null) await deps.note.keep(fresh);
    // Not left to the connection, which retries: a first failure goes to the caller.
    await ensure(deps.signal);
    if (known?.road) await letInThoseAtWork(known);
    registries = mirrors;
    const line = deps.hold(names.container, { ...listener, ensure }, deps.signal);
    try {
      await handOver(line, admitMs);
      const found = road ?? (await probeTransport(deps, deps.signal));
      const note = { secret: fresh.secret, road: found, runtime: deps.runtime };
      if (road === null) await deps.note.keep(note);
      await deps.update((state) => ({ ...state, gateway: { road: found } }));
      deps.tell({ event: "gateway", status: "ready", road: found });
      return { line, note };
    } catch (error) {
      await line[Symbol.asyncDispose]();
      throw error;
    }
  }

  async function ensure(signal: AbortSignal): Promise<void> {
    try {
      await standUpGateway(deps, signal);
      // Also for an existing gateway: its owner may have crashed before it connected the networks.
      await networks.reconnect(signal);
    } catch (error) {
      // The engine is still removing the old container; the next attempt creates a new one.
      if (!isError(error, "NAME_TAKEN")) throw error;
    }
  }

  async function admit(ms = admitMs): Promise<void> {
    if (standing !== null) await handOver(standing.line, ms);
  }

  async function handOver(line: GatewayLine, ms: number): Promise<void> {
    const patience = AbortSignal.timeout(ms);
    try {
      await line.handOver(AbortSignal.any([deps.signal, patience]));
    } catch (error) {
      if (!patience.aborted || error !== patience.reason) throw error;
      throw new SwarmError("GATEWAY_FAILED", { reason: lost ?? "it does not answer" });
    }
  }

  /** Admits running workers of an earlier owner again: the gateway disconnects workers that an admission does not name. */
  async function letInThoseAtWork(note: GatewayNote): Promise<void> {
    for (const worker of await deps.atWork()) {
      // Skips a worker with a foreseen error; `open` reports it later.
      const rights = await rightsOf(worker).catch(unlessForeseen);
      if (!rights) continue;
      const subnet = note.road === "network" ? await networks.find(worker, deps.signal) : null;
      if (note.road === "network" && subnet === null) continue;
      hearing.watch(worker.slug, { name: worker.name, budget: rights.budget });
      letIn.set(worker.slug, letInOf(worker, rights, note, subnet));
    }
  }

  /** The access of a worker; null if it may reach nothing. */
  async function rightsOf(worker: AskingWorker): Promise<ReachedByWorker | null> {
    const rights = deps.rightsOf(worker.task);
    await models.learn(agentOf(worker));
    const endpoints = models.namesOf(agentOf(worker));
    const isNothing = endpoints.length + rights.mirrors.length + rights.allow.length === 0;
    return isNothing ? null : { ...rights, endpoints };
  }

  function letInOf(
    worker: AskingWorker,
    rights: ReachedByWorker,
    note: GatewayNote,
    subnet: WorkerSubnet | null,
  ): LetIn {
    const token = { worker: worker.slug, tokenSha256: deps.hash(tokenOf(note, worker)) };
    return {
      door: subnet === null ? onLoopback : `http://${subnet.gateway}:${gatewayPort}`,
      admitted: { ...token, address: subnet?.worker ?? null, ...rights },
    };
  }

  function admission(): AdmissionPayload {
    const { prices, budget } = deps;
    return {
      ...{ endpoints: models.endpoints, mirrors: registries, prices, budget, spent: hearing.spentInAll() },
      workers: [...letIn.values()].map(({ admitted }) => ({
        ...{ ...admitted, spent: hearing.spentBy(admitted.worker) },
      })),
    };
  }

  /** The same token for every attempt and every owner: a running agent keeps the token that it got. */
  function tokenOf({ secret }: GatewayNote, { slug }: Pick<Worker, "slug">): string {
    return deps.sign(secret, slug);
  }

  function doorOf(worker: Worker, subnet: WorkerSubnet | null): WorkerNetwork {
    if (subnet === null)
      return {
        network: { kind: "none" },
        volumes: [{ name: names.door, path: "/door", readOnly: true }],
        env: { AIMI_DOOR: "/door/door.sock" },
      };
    const network = { kind: "named", name: workerNetworkName(worker.name), address: subnet.worker } as const;
    // No name server listens at the gateway's address, so lookups fail.
    return { network, volumes: [], nameServer: subnet.gateway, env: {} };
  }
}

function unlessForeseen(error: unknown): null {
  if (!(error instanceof SwarmError)) throw error;
  return null;
}

function unlessInUse(error: unknown): void {
  if (!isError(error, "ENGINE_FAILED")) throw error;
}

function agentOf({ request }: Pick<Worker, "request">): NamedAgent {
  return request.agent ?? { kind: "claude" };
}
