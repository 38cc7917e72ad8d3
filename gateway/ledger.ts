import type {
  AdmissionPayload,
  AdmittedWorker,
  BudgetLimits,
  CallOpened,
  Spending,
} from "../src/domain/generated/gateway.ts";
import {
  addSpending,
  countBudgetTokens,
  maxSpending,
  subtractSpending,
  zeroSpending,
} from "../src/domain/spending.ts";
import type { JournalEntry, NewJournalEntry } from "./journal.ts";

/** The notice that 80 % or 100 % of a budget is used. */
export type BudgetNotice = Extract<NewJournalEntry, { readonly type: "budget" }>;

/**
 * The spending of each worker and of the whole swarm. The gateway computes the spending from its journal, so
 * a crash does not change it. If an earlier journal was lost, the ledger adds the spending that the host has
 * recorded.
 */
export class SpendingLedger {
  readonly #spent = new Map<string, Spending>();
  readonly #open = new Map<number, CallOpened>();
  readonly #sentNotices = new Set<string>();
  /** The spending in a lost journal, by worker, as the host reports it. */
  readonly #before = new Map<string, Spending>();
  readonly #inFlight = new Map<string, readonly Spending[]>();
  #swarm = zeroSpending;
  #swarmBefore = zeroSpending;
  #limits: BudgetLimits = { usd: null, tokens: null };

  /** Applies the next entry of the journal to the ledger. */
  apply(entry: JournalEntry): void {
    if (entry.type === "opened") this.#open.set(entry.seq, entry);
    if (entry.type === "budget") this.#sentNotices.add(noticeKey(entry));
    if (entry.type !== "closed") return;
    this.#open.delete(entry.opened);
    this.#spent.set(entry.worker, addSpending(this.#own(entry.worker), entry.spent));
    this.#swarm = addSpending(this.#swarm, entry.spent);
  }

  /** The calls that have an `opened` entry in the journal, but no `closed` entry. */
  get open(): readonly CallOpened[] {
    return [...this.#open.values()];
  }

  admit({ budget, spent, workers }: AdmissionPayload): void {
    this.#limits = budget;
    this.#swarmBefore = maxSpending(this.#swarmBefore, subtractSpending(spent, this.#swarm));
    for (const { worker, spent: known } of workers) {
      const missing = subtractSpending(known, this.#own(worker));
      this.#before.set(worker, maxSpending(this.#before.get(worker) ?? zeroSpending, missing));
    }
  }

  of(worker: string): Spending {
    return addSpending(this.#own(worker), this.#before.get(worker) ?? zeroSpending);
  }

  get swarm(): Spending {
    return addSpending(this.#swarm, this.#swarmBefore);
  }

  get workers(): Readonly<Record<string, Spending>> {
    const names = new Set([...this.#spent.keys(), ...this.#before.keys()]);
    return Object.fromEntries([...names].map((name) => [name, this.of(name)]));
  }

  /** Reserves the maximum cost of a call. Disposing of the returned object ends the reservation. */
  begin(worker: string, maxCost: Spending): Disposable {
    this.#inFlight.set(worker, [...this.#costsInFlight(worker), maxCost]);
    return {
      [Symbol.dispose]: () => {
        const others = this.#costsInFlight(worker).toSpliced(this.#costsInFlight(worker).indexOf(maxCost), 1);
        if (others.length > 0) this.#inFlight.set(worker, others);
        else this.#inFlight.delete(worker);
      },
    };
  }

  /** Returns the number of the worker's calls in flight. */
  callsInFlight(worker: string): number {
    return this.#costsInFlight(worker).length;
  }

  /**
   * Whether the budgets of the worker and of the swarm allow a call. Assumes the maximum cost for this call
   * and for the worker's calls in flight.
   */
  canAfford({ worker, budget }: AdmittedWorker, maxCost: Spending): boolean {
    const all = this.#costsInFlight(worker).reduce(addSpending, maxCost);
    const own = reachedOf(worker, budget, addSpending(this.of(worker), all));
    const ofSwarm = reachedOf(null, this.#limits, addSpending(this.swarm, all));
    return [...own, ...ofSwarm].every(({ share }) => share < 1);
  }

  /**
   * Returns the notice of the first budget of the worker or the swarm that is used up; null if no budget is
   * used up.
   */
  exhausted(worker: AdmittedWorker): BudgetNotice | null {
    return this.#reached(worker).find(({ share }) => share === 1) ?? null;
  }

  /**
   * Returns the notices that are due for the budgets of the worker and the swarm, and that the gateway has
   * not sent yet.
   */
  unsentNotices(worker: AdmittedWorker): BudgetNotice[] {
    return this.#reached(worker).filter((notice) => !this.#sentNotices.has(noticeKey(notice)));
  }

  #costsInFlight(worker: string): readonly Spending[] {
    return this.#inFlight.get(worker) ?? [];
  }

  #own(worker: string): Spending {
    return this.#spent.get(worker) ?? zeroSpending;
  }

  #reached({ worker, budget }: AdmittedWorker): BudgetNotice[] {
    return [...reachedOf(worker, budget, this.of(worker)), ...reachedOf(null, this.#limits, this.swarm)];
  }
}

function reachedOf(worker: string | null, { usd, tokens }: BudgetLimits, spent: Spending): BudgetNotice[] {
  const notice = (of: "usd" | "tokens", limit: number | null, used: number): BudgetNotice[] => {
    if (limit === null || used < 0.8 * limit) return [];
    return [{ type: "budget", worker, of, limit, used, share: used >= limit ? 1 : 0.8 }];
  };
  return [...notice("usd", usd, spent.costUsd), ...notice("tokens", tokens, countBudgetTokens(spent))];
}

/**
 * Returns a key that identifies a notice. The key includes the limit, so that the gateway sends new notices
 * after a budget was raised.
 */
function noticeKey({ worker, of, limit, share }: Omit<BudgetNotice, "type">): string {
  return [worker ?? "", of, limit, share].join(" ");
}
