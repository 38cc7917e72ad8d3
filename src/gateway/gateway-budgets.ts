import type { BudgetLimits, Spending } from "../contract/gateway.ts";
import { addSpending, countBudgetTokens, maxSpending, zeroSpending } from "../usage/spending.ts";

export interface WatchedWorker {
  /** The name of the worker's container. It also identifies the worker's record. */
  readonly name: string;
  readonly budget: BudgetLimits;
}

/** What the workers of a swarm have spent. Ends the network access of workers whose budget is used up. */
export class GatewayBudgets {
  readonly #budget: BudgetLimits;
  readonly #spentBySlug = new Map<string, Spending>();
  // The last total that the gateway reported. It includes calls whose journal lines have not arrived yet.
  #reportedTotal = zeroSpending;
  readonly #watched = new Map<string, WatchedWorker>();
  readonly #endOfAccessBySlug = new Map<string, AbortController>();

  /** `budget` is the budget of all workers together. */
  constructor(budget: BudgetLimits) {
    this.#budget = budget;
  }

  watch(slug: string, worker: WatchedWorker): void {
    this.#watched.set(slug, worker);
    this.#check(slug);
  }

  forget(slug: string): void {
    this.#watched.delete(slug);
  }

  watched(): [slug: string, worker: WatchedWorker][] {
    return [...this.#watched];
  }

  spentBy(slug: string): Spending {
    return this.#spentBySlug.get(slug) ?? zeroSpending;
  }

  totalSpent(): Spending {
    return maxSpending(
      this.#reportedTotal,
      [...this.#spentBySlug.values()].reduce(addSpending, zeroSpending),
    );
  }

  /** Raises the spending of a worker to at least `total`, without a look at the budgets. */
  raise(slug: string, total: Spending): void {
    this.#spentBySlug.set(slug, maxSpending(this.spentBy(slug), total));
  }

  /** Takes the spending of one worker from the gateway, as `raise` does, and looks at the budgets. */
  report(slug: string, total: Spending): void {
    this.raise(slug, total);
    this.#check(slug);
  }

  /** Takes the spending of all workers from the gateway, and looks at the budgets. */
  reportAll(total: Spending, totalBySlug: Readonly<Record<string, Spending>>): void {
    this.#reportedTotal = maxSpending(this.#reportedTotal, total);
    for (const [slug, spent] of Object.entries(totalBySlug)) this.raise(slug, spent);
    for (const slug of this.#watched.keys()) this.#check(slug);
  }

  /** Returns a signal that is aborted when the budget of the worker or of the swarm is used up. */
  accessEnded(slug: string): AbortSignal {
    return this.#endOfAccess(slug).signal;
  }

  #check(slug: string): void {
    const whole = reached(this.totalSpent(), this.#budget);
    if (whole !== null)
      for (const each of this.#watched.keys()) this.#end(each, `the swarm's budget of ${whole}`, "--budget");
    const worker = this.#watched.get(slug);
    const own = worker && reached(this.spentBy(slug), worker.budget);
    if (own) this.#end(slug, `the worker's budget of ${own}`, "--worker-budget");
  }

  #end(slug: string, what: string, flag: string): void {
    const message = `${what} is used up; run \`swarm retry\` with a larger budget: ${flag}-usd or ${flag}-tokens`;
    this.#endOfAccess(slug).abort({ code: "BUDGET_EXCEEDED", message });
  }

  #endOfAccess(slug: string): AbortController {
    const known = this.#endOfAccessBySlug.get(slug) ?? new AbortController();
    this.#endOfAccessBySlug.set(slug, known);
    return known;
  }
}

function reached(spent: Spending, { usd, tokens }: BudgetLimits): string | null {
  if (usd !== null && spent.costUsd >= usd) return `$${usd}`;
  return tokens !== null && countBudgetTokens(spent) >= tokens ? `${tokens} tokens` : null;
}
