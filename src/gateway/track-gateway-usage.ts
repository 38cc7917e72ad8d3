import type { CallClosed, ModelLimited } from "../contract/gateway.ts";
import type { ContainerRecord } from "../contract/swarm-state.ts";
import type { SwarmEvent } from "../swarm/worker/owner-services.ts";
import { pauseWorkerForRateLimit } from "../swarm/worker/pause-worker.ts";
import { workerSlug } from "../text/slugs.ts";
import {
  meteredSpendingOf,
  recordWithDeniedRequest,
  recordWithMeteredSpending,
} from "../usage/metered-spending.ts";
import { countBudgetTokens } from "../usage/spending.ts";
import { GatewayBudgets } from "./gateway-budgets.ts";
import type { GatewayJournalEntry, GatewayListener } from "./gateway-connection.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** What the owner knows about spending, budgets and rate limits from the messages of the swarm's gateway. */
export interface GatewayUsage {
  readonly budgets: GatewayBudgets;
  readonly listener: Omit<GatewayListener, "ensureRunning" | "onLogin" | "admission">;
  /**
   * Sets the counters to the spending in the workers' records, because the gateway's own journal of the
   * spending may be lost.
   */
  begin(): Promise<void>;
  /**
   * Returns the time at which the first of the rate limits of these endpoints ends, in milliseconds since
   * 1970. Null if at least one of the endpoints accepts calls now.
   */
  limitedUntil(endpoints: readonly string[]): number | null;
  /** Resolves when the spending and refusals in all messages received so far are in the state. */
  written(): Promise<void>;
}

/**
 * The minimum duration in milliseconds of a rate limit that pauses workers. During a shorter rate limit, the
 * gateway delays or refuses the calls.
 */
const shortLimitMs = 5 * 60_000;

/**
 * Processes the messages of the gateway: records spending and refused requests, ends the network access of
 * workers whose budget is used up, and pauses the workers of rate-limited models.
 */
export function trackGatewayUsage(
  deps: GatewayDeps,
  /**
   * Returns whether a host that the gateway refused belongs to a model's API. The owner does not report these
   * refusals, because agents often try to reach such hosts directly instead of through the gateway.
   */
  isModelHost: (what: string) => boolean,
): GatewayUsage {
  const { store, policy, events, time } = deps;
  const budgets = new GatewayBudgets(policy.budget);
  const limitByEndpoint = new Map<string, number>();
  const calls = new Set<string>();
  const writes = new RecordWrites(store);

  return {
    budgets,
    listener: {
      onHello: ({ spent, workers }) => budgets.reportAll(spent, workers),
      onEntry,
      onLost: (why) => events.emit({ event: "gateway", status: "lost", why }),
    },
    async begin() {
      for (const record of (await store.read()).containers)
        budgets.raise(workerSlug(record), meteredSpendingOf(record));
    },
    limitedUntil(endpoints) {
      const first = Math.min(...endpoints.map((name) => limitByEndpoint.get(name) ?? 0));
      return endpoints.length > 0 && first > time.clock().getTime() ? first : null;
    },
    written: () => writes.written(),
  };

  function onEntry(entry: GatewayJournalEntry): void {
    switch (entry.type) {
      case "opened":
        calls.add(callOf(entry));
        break;
      case "closed":
        onCallClosed(entry);
        break;
      case "reached": {
        const { type: _type, seq: _seq, at: _at, ...facts } = entry;
        events.emit({ event: "reached", kind: "egress", ...facts });
        break;
      }
      case "refused": {
        const { worker, what, why, times } = entry;
        if (isModelHost(what)) break;
        events.emit({
          event: "denied",
          kind: "egress",
          ...(worker !== null && { worker }),
          what,
          why,
          times,
        });
        if (worker !== null)
          writes.change(worker, () => (now) => recordWithDeniedRequest(now, { what, why, times }));
        break;
      }
      case "limited":
        onRateLimit(entry);
        break;
      case "budget": {
        const { worker, of, limit, used, share } = entry;
        const whose = worker === null ? {} : { worker };
        events.emit({ event: "budget", kind: "model", ...whose, of, limit, used, share });
      }
    }
  }

  function onCallClosed(call: CallClosed): void {
    const { worker, spent, total } = call;
    budgets.report(worker, total);
    writes.change(worker, (record) => {
      const story = record.stories.find((each) => each.status === "in_progress")?.id;
      events.emit(calledEvent(call, story));
      return (now) => recordWithMeteredSpending(now, total, story === undefined ? null : { story, spent });
    });
  }

  function onRateLimit(limit: ModelLimited): void {
    const { endpoint, status } = limit;
    // Adds the caller here too, because an earlier owner may have received the line that opened the call.
    calls.add(callOf(limit));
    const until = Date.parse(limit.until);
    limitByEndpoint.set(endpoint, until);
    events.emit({ event: "limited", kind: "model", endpoint, status, until: new Date(until).toISOString() });
    if (until - time.clock().getTime() < shortLimitMs) return;
    // Pauses only workers that have called this endpoint. Workers that use other endpoints continue.
    for (const [worker, { name }] of budgets.watched())
      if (calls.has(callOf({ worker, endpoint })))
        writes.add(() => pauseWorkerForRateLimit(deps, name, until));
  }
}

function calledEvent(
  { worker, endpoint, status, model, spent, isEstimated, ms }: CallClosed,
  story: string | undefined,
): SwarmEvent {
  return {
    event: "called",
    kind: "model",
    worker,
    ...(story !== undefined && { story }),
    endpoint,
    status,
    model,
    tokens: countBudgetTokens(spent),
    costUsd: spent.costUsd,
    isEstimated,
    ms,
  };
}

/** Returns a key for the calls of a worker to an endpoint. */
function callOf({ worker, endpoint }: Pick<CallClosed, "worker" | "endpoint">): string {
  return JSON.stringify([worker, endpoint]);
}

type Change = (record: ContainerRecord) => ContainerRecord;

/**
 * Writes to the state, one write after another, in the order of the gateway's messages. If one write fails,
 * the later ones still run, and the next call of `written` throws the error.
 */
class RecordWrites {
  readonly #store: GatewayDeps["store"];
  #writing: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  constructor(store: GatewayDeps["store"]) {
    this.#store = store;
  }

  add(write: () => Promise<void>): void {
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  /** Changes a worker's record. `changeOf` gets the record as it is when the write begins. */
  change(slug: string, changeOf: (record: ContainerRecord) => Change): void {
    this.add(async () => {
      const record = (await this.#store.read()).containers.find((each) => workerSlug(each) === slug);
      if (record) await this.#store.change(record.containerName, changeOf(record));
    });
  }

  async written(): Promise<void> {
    await this.#writing;
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure.error;
  }
}
