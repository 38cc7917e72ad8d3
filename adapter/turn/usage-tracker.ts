import type { UsageSoFar } from "../../src/contract/acp.ts";
import type { TurnUsage } from "../agents/agent.ts";

const minIntervalMs = 1_000;

/**
 * Sums the token usage and cost of all turns in an attempt of the task. Publishes the sum at most once per
 * second, and at the end of each turn.
 */
export class UsageTracker {
  readonly #publish: (usage: UsageSoFar) => void;
  #before: TurnUsage;
  #turn: TurnUsage | null = null;
  #publishedAt = Number.NEGATIVE_INFINITY;

  constructor(before: TurnUsage, publish: (usage: UsageSoFar) => void) {
    this.#before = before;
    this.#publish = publish;
  }

  /**
   * Stores the usage of the current turn so far. It replaces the usage that was stored for this turn before.
   */
  note(storyId: string, usage: TurnUsage): void {
    this.#turn = usage;
    if (performance.now() - this.#publishedAt >= minIntervalMs) this.#publishTotal(storyId);
  }

  endTurn(storyId: string): void {
    if (this.#turn === null) return;
    this.#publishTotal(storyId);
    this.#before = sum(this.#before, this.#turn);
    this.#turn = null;
  }

  #publishTotal(storyId: string): void {
    this.#publishedAt = performance.now();
    this.#publish({ storyId, ...(this.#turn ? sum(this.#before, this.#turn) : this.#before) });
  }
}

function sum(a: TurnUsage, b: TurnUsage): TurnUsage {
  const costs = [a.costUsd, b.costUsd].filter((cost) => cost !== undefined).filter(Number.isFinite);
  return {
    inputTokens: count(count(a.inputTokens) + count(b.inputTokens)),
    outputTokens: count(count(a.outputTokens) + count(b.outputTokens)),
    cacheReadTokens: count(count(a.cacheReadTokens) + count(b.cacheReadTokens)),
    cacheWriteTokens: count(count(a.cacheWriteTokens) + count(b.cacheWriteTokens)),
    ...(costs.length > 0 ? { costUsd: costs.reduce(addCost, 0) } : {}),
  };
}

const maxUsd = 1_000_000_000;

function addCost(total: number, cost: number): number {
  return Math.min(maxUsd, total + Math.max(0, cost));
}

/**
 * Returns a number that the agent reported as a valid count. The agent is untrusted: an invalid number
 * becomes 0, and a number above the protocol's maximum becomes that maximum.
 */
function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.min(Number.MAX_SAFE_INTEGER, Math.round(value)) : 0;
}
