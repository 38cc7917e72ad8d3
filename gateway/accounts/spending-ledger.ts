import type {
  AdmissionPayload,
  AdmittedWorker,
  BudgetLimits,
  CallOpened,
  Spending,
} from "../../src/contract/gateway.ts";
import {
  addSpending,
  countBudgetTokens,
  maxSpending,
  subtractSpending,
  zeroSpending,
} from "../../src/usage/spending.ts";
import type { JournalEntry, NewJournalEntry } from "./journal.ts";

/** The journal entry that records that 80 % or 100 % of a budget is used. */
export type BudgetNotice = Extract<NewJournalEntry, { readonly type: "budget" }>;

/**
 * The spending of each worker and of the whole swarm, computed from the gateway's journal so that a crash
 * does not change it. If an earlier journal was lost, the gateway adds the spending that the host has
 * recorded.
 */
export class SpendingLedger {
  readonly #spent = new Map<string, Spending>();
  readonly #open = new Map<number, CallOpened>();
  readonly #sentNotices = new Set<string>();
  /**
   * For each worker, the spending that was recorded in a lost journal of the gateway. The host reports this
   * spending.
   */
  readonly #before = new Map<string, Spending>();
  readonly #inFlight = new Map<string, readonly Spending[]>();
  #swarm = zeroSpending;
  #swarmBefore = zeroSpending;
  #limits: BudgetLimits = { usd: null, tokens: null };

  /** Adds the next journal entry of an earlier gateway process to the ledger. */
  restore(entry: JournalEntry): void {
    if (entry.type === "opened") this.#open.set(entry.seq, entry);
    if (entry.type === "budget") this.#sentNotices.add(noticeKey(entry));
    if (entry.type !== "closed") return;
    this.#open.delete(entry.opened);
    this.add(entry.worker, entry.spent);
  }

  /** Adds the spending of a call that has ended. */
  add(worker: string, spent: Spending): void {
    this.#spent.set(worker, addSpending(this.#own(worker), spent));
    this.#swarm = addSpending(this.#swarm, spent);
  }

  /** The calls of earlier gateway processes that have an `opened` entry, but no `closed` entry. */
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

  /** Reserves a call's maximum cost until the returned object is disposed. */
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

  /** Returns how many calls of the worker are in flight. */
  callsInFlight(worker: string): number {
    return this.#costsInFlight(worker).length;
  }

  /**
   * Whether the budgets of the worker and of the swarm allow a further call. Assumes that this call and all
   * of the worker's calls in flight cost their maximum.
   */
  canAfford({ worker, budget }: AdmittedWorker, maxCost: Spending): boolean {
    const all = this.#costsInFlight(worker).reduce(addSpending, maxCost);
    const own = reachedOf(worker, budget, addSpending(this.of(worker), all));
    const ofSwarm = reachedOf(null, this.#limits, addSpending(this.swarm, all));
    return [...own, ...ofSwarm].every(({ share }) => share < 1);
  }

  /**
   * Returns the notice for the first used-up budget of the worker or the swarm; null if no budget is used up.
   */
  exhausted(worker: AdmittedWorker): BudgetNotice | null {
    return this.#reached(worker).find(({ share }) => share === 1) ?? null;
  }

  /**
   * Returns the notices for budgets of the worker and the swarm that have reached 80 % or 100 %. Returns
   * each notice only once.
   */
  takeNotices(worker: AdmittedWorker): BudgetNotice[] {
    const unsent = this.#reached(worker).filter((notice) => !this.#sentNotices.has(noticeKey(notice)));
    for (const notice of unsent) this.#sentNotices.add(noticeKey(notice));
    return unsent;
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
 * Returns a key that identifies a budget notice. The key includes the budget's limit, so that a raised budget
 * leads to new notices.
 */
function noticeKey({ worker, of, limit, share }: Omit<BudgetNotice, "type">): string {
  return [worker ?? "", of, limit, share].join(" ");
}
