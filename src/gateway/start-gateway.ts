import { randomBytes } from "node:crypto";
import type { GatewayHello } from "../contract/gateway.ts";
import { isError, requireExpected, SwarmError } from "../errors/errors.ts";
import { ensureGateway, probeGatewayTransport } from "./ensure-gateway.ts";
import type { GatewayAdmissions } from "./gateway-admissions.ts";
import type { GatewayListener } from "./gateway-connection.ts";
import type { GatewayDeps, GatewayRecord, GatewayTransport } from "./gateway-deps.ts";
import type { SwarmModelEndpoints } from "./swarm-model-endpoints.ts";
import type { GatewayUsage } from "./track-gateway-usage.ts";
import type { WorkerNetworks } from "./worker-networks.ts";

/** A running gateway, with the owner's connection to it and what swarm stores about it. */
export interface RunningGateway extends AsyncDisposable {
  readonly record: GatewayRecord & { readonly road: GatewayTransport };
  /**
   * Sends the current list of admitted workers to the gateway. Throws GATEWAY_FAILED if the gateway does not
   * answer within `ms` milliseconds.
   */
  handOver(ms?: number): Promise<void>;
  /** Receives the journal entries that the gateway has written so far; see `GatewayConnection`. */
  receiveEntries(within: AbortSignal): Promise<void>;
}

/** What the owner keeps in memory about its gateway, whether the gateway runs or not. */
export interface GatewayParts {
  readonly models: SwarmModelEndpoints;
  readonly usage: GatewayUsage;
  readonly networks: WorkerNetworks;
  readonly admissions: GatewayAdmissions;
}

const admitMs = 60_000;

/** Starts the gateway of a swarm, connects to it, and hands over the workers that an earlier owner started. */
export async function startGateway(deps: GatewayDeps, parts: GatewayParts): Promise<RunningGateway> {
  const { sandboxes, secrets, store, events } = deps;
  const { signal } = deps.time;
  const { models, usage, networks, admissions } = parts;
  // The reason for the last loss of the connection to the gateway; null if the gateway answers.
  let lostBecause: string | null = null;
  const listener: GatewayListener = {
    ...usage.listener,
    ensureRunning,
    admission: () => admissions.payload(),
    onHello(hello: GatewayHello): void {
      lostBecause = null;
      usage.listener.onHello(hello);
    },
    onLost(why: string): void {
      lostBecause = why;
      usage.listener.onLost(why);
    },
    onLogin: models.storeLogin,
  };
  const [known, mirrors] = [await deps.record.find(), await secrets.mirrors()];
  await usage.begin();
  const { runtime } = sandboxes;
  const fresh = known ?? { secret: randomBytes(32).toString("base64url"), road: null };
  const knownRoad = fresh.runtime === runtime ? fresh.road : null;
  if (known === null) await deps.record.keep(fresh);
  // Starts the container here instead of in the connection: the connection would retry, but the caller needs a
  // first failure.
  await ensureRunning(signal);
  if (known?.road) await readmitWorkers(deps, parts, known);
  admissions.mirrors = mirrors;
  await using undo = new AsyncDisposableStack();
  const connection = undo.use(deps.connect(listener));
  await handOver();
  const road = knownRoad ?? (await probeGatewayTransport(deps, signal));
  const record = { secret: fresh.secret, road, runtime };
  if (knownRoad === null) await deps.record.keep(record);
  await store.update((state) => ({ ...state, gateway: { road } }));
  events.emit({ event: "gateway", status: "ready", road });
  undo.move();
  return {
    record,
    handOver,
    receiveEntries: (within) => connection.sendAdmission(within),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };

  async function ensureRunning(within: AbortSignal): Promise<void> {
    try {
      await ensureGateway(deps, within);
      // Connects the networks even if the gateway existed: an earlier owner may have crashed before it
      // connected them.
      await networks.reconnect(within);
    } catch (error) {
      // The engine is still removing the old container. The connection's next attempt creates a new one.
      if (!isError(error, "NAME_TAKEN")) throw error;
    }
  }

  async function handOver(ms = admitMs): Promise<void> {
    const timeout = AbortSignal.timeout(ms);
    try {
      await connection.sendAdmission(AbortSignal.any([signal, timeout]));
    } catch (error) {
      if (!timeout.aborted || error !== timeout.reason) throw error;
      throw new SwarmError("GATEWAY_FAILED", { reason: lostBecause ?? "the gateway does not answer" });
    }
  }
}

/**
 * Adds the workers that an earlier owner started to the list of workers that the gateway admits. The gateway
 * disconnects every worker that is not in the next list.
 */
async function readmitWorkers(
  deps: GatewayDeps,
  { networks, admissions }: GatewayParts,
  record: GatewayRecord,
): Promise<void> {
  for (const worker of await deps.workersAtWork()) {
    // Skips a worker if an expected error occurs, because `open` reports the error later.
    const rights = await admissions.rightsOf(worker).catch(requireExpected);
    if (!rights) continue;
    const subnet = record.road === "network" ? await networks.find(worker, deps.time.signal) : null;
    if (record.road === "socket" || subnet !== null) admissions.add(worker, rights, record, subnet);
  }
}
