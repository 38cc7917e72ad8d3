import type { BudgetLimits, CallClosed, Spending } from "../contract/gateway.ts";
import type { ContainerRecord, Reason } from "../contract/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import {
  meteredSpendingOf,
  recordWithDeniedRequest,
  recordWithMeteredSpending,
} from "../usage/metered-spending.ts";
import { addSpending, countBudgetTokens, maxSpending, zeroSpending } from "../usage/spending.ts";
import type { GatewayJournalEntry, GatewayListener } from "./gateway-connection.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

export interface WatchedWorker {
  /** The name of the worker's container. It also identifies the worker's record. */
  readonly name: string;
  readonly budget: BudgetLimits;
}

/** What the owner knows about spending, budgets and rate limits from the messages of the swarm's gateway. */
export interface GatewayUsage {
  readonly listener: Omit<GatewayListener, "ensureRunning" | "onLogin" | "admission">;
  /**
   * Sets the counters to the spending in the workers' records, because the gateway's own journal of the
   * spending may be lost.
   */
  begin(): Promise<void>;
  watch(slug: string, worker: WatchedWorker): void;
  forget(slug: string): void;
  spentBy(slug: string): Spending;
  totalSpent(): Spending;
  accessEnded(slug: string): AbortSignal;
  /**
   * Returns the time at which the first of the rate limits of these endpoints ends, in milliseconds since
   * 1970. Null if at least one of the endpoints accepts calls now.
   */
  limitedUntil(endpoints: readonly string[]): number | null;
  /** Resolves when the spending and refusals in all messages received so far are in the state. */
  written(): Promise<void>;
}

type Change = (record: ContainerRecord) => ContainerRecord;

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
  const spentBySlug = new Map<string, Spending>();
  // The last total that the gateway reported. It includes calls whose journal lines have not arrived yet.
  let reportedTotal = zeroSpending;
  const watched = new Map<string, WatchedWorker>();
  const endOfAccessBySlug = new Map<string, AbortController>();
  const limitByName = new Map<string, number>();
  let writing: Promise<unknown> = Promise.resolve();
  let failure: { readonly error: unknown } | null = null;

  const endOfAccess = (slug: string): AbortController => {
    const known = endOfAccessBySlug.get(slug) ?? new AbortController();
    endOfAccessBySlug.set(slug, known);
    return known;
  };

  const callersByName = new Map<string, Set<string>>();
  const callersOf = (endpoint: string): Set<string> => {
    const callers = callersByName.get(endpoint) ?? new Set();
    callersByName.set(endpoint, callers);
    return callers;
  };

  return {
    listener: {
      onHello({ spent, workers }) {
        reportedTotal = maxSpending(reportedTotal, spent);
        for (const [slug, total] of Object.entries(workers)) raiseSpent(slug, total);
        for (const slug of watched.keys()) checkBudget(slug);
      },
      onEntry,
      onLost: (why) => deps.emit({ event: "gateway", status: "lost", why }),
    },
    async begin() {
      for (const record of (await deps.read()).containers)
        raiseSpent(workerSlug(record), meteredSpendingOf(record));
    },
    watch(slug, worker) {
      watched.set(slug, worker);
      checkBudget(slug);
    },
    forget: (slug) => void watched.delete(slug),
    spentBy: (slug) => spentBySlug.get(slug) ?? zeroSpending,
    totalSpent,
    accessEnded: (slug) => endOfAccess(slug).signal,
    limitedUntil(endpoints) {
      const now = deps.clock().getTime();
      const limits = endpoints.map((name) => limitByName.get(name) ?? 0);
      const first = Math.min(...limits);
      return limits.length > 0 && first > now ? first : null;
    },
    async written() {
      await writing;
      if (failure === null) return;
      const { error } = failure;
      failure = null;
      throw error;
    },
  };

  function onEntry(entry: GatewayJournalEntry): void {
    switch (entry.type) {
      case "opened":
        callersOf(entry.endpoint).add(entry.worker);
        break;
      case "closed":
        onCallClosed(entry);
        break;
      case "reached": {
        const { type: _type, seq: _seq, at: _at, ...facts } = entry;
        deps.emit({ event: "reached", kind: "egress", ...facts });
        break;
      }
      case "refused": {
        const { worker, what, why, times } = entry;
        if (isModelHost(what)) break;
        deps.emit({ event: "denied", kind: "egress", ...(worker !== null && { worker }), what, why, times });
        if (worker !== null) write(worker, () => (now) => recordWithDeniedRequest(now, { what, why, times }));
        break;
      }
      case "limited":
        // Adds the caller here too, because an earlier owner may have received the line that opened the call.
        callersOf(entry.endpoint).add(entry.worker);
        onRateLimit(entry.endpoint, Date.parse(entry.until), entry.status);
        break;
      case "budget": {
        const { worker, of, limit, used, share } = entry;
        const whose = worker === null ? {} : { worker };
        deps.emit({ event: "budget", kind: "model", ...whose, of, limit, used, share });
      }
    }
  }

  function onCallClosed({
    worker,
    endpoint,
    status,
    model,
    spent,
    isEstimated,
    total,
    ms,
  }: CallClosed): void {
    raiseSpent(worker, total);
    write(worker, (record) => {
      const story = record.stories.find((each) => each.status === "in_progress")?.id;
      deps.emit({
        ...{ event: "called", kind: "model", worker, ...(story !== undefined && { story }) },
        ...{
          endpoint,
          status,
          model,
          tokens: countBudgetTokens(spent),
          costUsd: spent.costUsd,
          isEstimated,
          ms,
        },
      });
      return (now) => recordWithMeteredSpending(now, total, story === undefined ? null : { story, spent });
    });
    checkBudget(worker);
  }

  function raiseSpent(slug: string, total: Spending): void {
    spentBySlug.set(slug, maxSpending(spentBySlug.get(slug) ?? zeroSpending, total));
  }

  function totalSpent(): Spending {
    return maxSpending(reportedTotal, [...spentBySlug.values()].reduce(addSpending, zeroSpending));
  }

  function checkBudget(slug: string): void {
    const worker = watched.get(slug);
    const whole = reached(totalSpent(), deps.budget);
    if (whole !== null)
      for (const each of watched.keys())
        endOfAccess(each).abort(exceeded(`the swarm's budget of ${whole}`, "--budget"));
    const own = worker && reached(spentBySlug.get(slug) ?? zeroSpending, worker.budget);
    if (own) endOfAccess(slug).abort(exceeded(`the worker's budget of ${own}`, "--worker-budget"));
  }

  function onRateLimit(endpoint: string, until: number, status: number): void {
    limitByName.set(endpoint, until);
    const at = new Date(until).toISOString();
    deps.emit({ event: "limited", kind: "model", endpoint, status, until: at });
    const now = deps.clock().getTime();
    if (until - now < shortLimitMs) return;
    // Pauses only workers that have called this endpoint. Workers that use other endpoints continue.
    const callers = callersOf(endpoint);
    const waiting = [...watched].flatMap(([slug, worker]) => (callers.has(slug) ? [worker] : []));
    for (const { name } of waiting) enqueue(() => deps.pause(name, until));
  }

  /**
   * Queues a change of a worker's record. The changes are written in the order of the gateway's messages.
   * `changeOf` gets the record as it is when the write begins.
   */
  function write(slug: string, changeOf: (record: ContainerRecord) => Change): void {
    enqueue(async () => {
      const record = (await deps.read()).containers.find((each) => workerSlug(each) === slug);
      if (record) await deps.change(record.containerName, changeOf(record));
    });
  }

  /**
   * Queues a function that writes to the state. If one function fails, the later ones still run, and the next
   * call of `written` throws the error.
   */
  function enqueue(work: () => Promise<void>): void {
    writing = writing.then(work).catch((error: unknown) => {
      failure ??= { error };
    });
  }
}

function reached({ costUsd, ...spent }: Spending, { usd, tokens }: BudgetLimits): string | null {
  if (usd !== null && costUsd >= usd) return `$${usd}`;
  if (tokens !== null && countBudgetTokens({ costUsd, ...spent }) >= tokens) return `${tokens} tokens`;
  return null;
}

function exceeded(what: string, flag: string): Reason {
  const message = `${what} is used up; run \`swarm retry\` with a larger budget: ${flag}-usd or ${flag}-tokens`;
  return { code: "BUDGET_EXCEEDED", message };
}
