import type { UsageSoFar } from "../../src/contract/acp.ts";
import type { TurnUsage } from "../agents/agent.ts";
import { addUsage } from "../agents/turn-usage.ts";

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
    this.#before = addUsage(this.#before, this.#turn);
    this.#turn = null;
  }

  #publishTotal(storyId: string): void {
    this.#publishedAt = performance.now();
    this.#publish({ storyId, ...(this.#turn ? addUsage(this.#before, this.#turn) : this.#before) });
  }
}
