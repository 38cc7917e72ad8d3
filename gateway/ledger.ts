import type {
  AdmissionPayload,
  AdmittedWorker,
  BudgetLimits,
  CallOpened,
  Spending,
} from "../src/domain/generated/gateway.ts";
import {
  addSpending,
  excessSpending,
  largerSpending,
  tokensIn,
  zeroSpending,
} from "../src/domain/spending.ts";
import type { Entry, News } from "./journal.ts";

/** The notice that a budget is used up, or nearly. */
export type BudgetNews = Extract<News, { readonly type: "budget" }>;

/**
 * The spending of each worker and of the swarm. It is derived from the journal, so a crash does not change it;
 * spending that only the host knows, from a journal that was lost, is added.
 */
export class Ledger {
  readonly #spent = new Map<string, Spending>();
  readonly #open = new Map<number, CallOpened>();
  readonly #told = new Set<string>();
  /** Spending that the host knows from a lost journal, by worker. */
  readonly #before = new Map<string, Spending>();
  readonly #underWay = new Map<string, readonly Spending[]>();
  #swarm = zeroSpending;
  #swarmBefore = zeroSpending;
  #limits: BudgetLimits = { usd: null, tokens: null };

  /** Applies the next line of the journal. */
  take(entry: Entry): void {
    if (entry.type === "opened") this.#open.set(entry.seq, entry);
    if (entry.type === "budget") this.#told.add(noticeKey(entry));
    if (entry.type !== "closed") return;
    this.#open.delete(entry.opened);
    this.#spent.set(entry.worker, addSpending(this.#own(entry.worker), entry.spent));
    this.#swarm = addSpending(this.#swarm, entry.spent);
  }

  /** Calls that were opened and not closed. */
  get open(): readonly CallOpened[] {
    return [...this.#open.values()];
  }

  admit({ budget, spent, workers }: AdmissionPayload): void {
    this.#limits = budget;
    this.#swarmBefore = largerSpending(this.#swarmBefore, excessSpending(spent, this.#swarm));
    for (const { worker, spent: known } of workers) {
      const missing = excessSpending(known, this.#own(worker));
      this.#before.set(worker, largerSpending(this.#before.get(worker) ?? zeroSpending, missing));
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

  /** Reserves the maximum cost of a call until the result is disposed. */
  begin(worker: string, most: Spending): Disposable {
    this.#underWay.set(worker, [...this.#begun(worker), most]);
    return {
      [Symbol.dispose]: () => {
        const others = this.#begun(worker).toSpliced(this.#begun(worker).indexOf(most), 1);
        if (others.length > 0) this.#underWay.set(worker, others);
        else this.#underWay.delete(worker);
      },
    };
  }

  /** The number of this worker's calls in flight. */
  openOf(worker: string): number {
    return this.#begun(worker).length;
  }

  /** Whether a call fits every budget, should it and the worker's calls in flight cost their maximum. */
  holds({ worker, budget }: AdmittedWorker, most: Spending): boolean {
    const all = this.#begun(worker).reduce(addSpending, most);
    const own = reachedOf(worker, budget, addSpending(this.of(worker), all));
    const ofSwarm = reachedOf(null, this.#limits, addSpending(this.swarm, all));
    return [...own, ...ofSwarm].every(({ share }) => share < 1);
  }

  /** The first used-up budget of this worker or the swarm; null when there is none. */
  exhausted(worker: AdmittedWorker): BudgetNews | null {
    return this.#reached(worker).find(({ share }) => share === 1) ?? null;
  }

  /** The notices for reached budgets that were not sent yet. */
  news(worker: AdmittedWorker): BudgetNews[] {
    return this.#reached(worker).filter((news) => !this.#told.has(noticeKey(news)));
  }

  #begun(worker: string): readonly Spending[] {
    return this.#underWay.get(worker) ?? [];
  }

  #own(worker: string): Spending {
    return this.#spent.get(worker) ?? zeroSpending;
  }

  #reached({ worker, budget }: AdmittedWorker): BudgetNews[] {
    return [...reachedOf(worker, budget, this.of(worker)), ...reachedOf(null, this.#limits, this.swarm)];
  }
}

function reachedOf(worker: string | null, { usd, tokens }: BudgetLimits, spent: Spending): BudgetNews[] {
  const notice = (of: "usd" | "tokens", limit: number | null, used: number): BudgetNews[] => {
    if (limit === null || used < 0.8 * limit) return [];
    return [{ type: "budget", worker, of, limit, used, share: used >= limit ? 1 : 0.8 }];
  };
  return [...notice("usd", usd, spent.costUsd), ...notice("tokens", tokens, tokensIn(spent))];
}

/** The limit is part of the key: a raised budget gets notices of its own. */
function noticeKey({ worker, of, limit, share }: Omit<BudgetNews, "type">): string {
  return [worker ?? "", of, limit, share].join(" ");
}
