import type { CheckResult, ProgressUpdate, Usage as UsageMessage } from "../../../contract/acp.ts";
import type { Reason, StoryStatus, Usage } from "../../../contract/swarm-state.ts";
import type { JournalledMessage } from "../../../protocol/rules/protocol-messages.ts";
import { truncateTextStart } from "../../../text/truncate-text.ts";
import { mergeTokens } from "../../../usage/spending.ts";

/**
 * The facts about one story that a worker's journals contain, such as the story's last status and its usage.
 */
export interface StoryFacts {
  /** The worker's newest attempt in which the adapter sent a message about the story. */
  readonly attempt: number;
  readonly status: StoryStatus;
  readonly output: string;
  readonly commit: string | null;
  readonly checks: readonly CheckResult[];
  readonly reason: Reason | null;
  /** If the story failed, the commit with its unfinished work; null otherwise. */
  readonly failedCommit: string | null;
  /** The time that the worker worked on the story, over all attempts, in milliseconds. */
  readonly workMs: number;
  readonly usage: Usage | null;
}

/** The facts about one worker that its journals contain, over all attempts. */
export interface WorkerFacts {
  /** The worker's working time in milliseconds; null if the journals contain no messages. */
  readonly workMs: number | null;
  readonly usage: Usage | null;
  readonly storyById: ReadonlyMap<string, StoryFacts>;
}

const maxStories = 10_000;
/** The maximum number of characters to keep of the output of one check that passed. */
const maxPassedLength = 200;
/**
 * The maximum number of characters to keep of the outputs of all checks of one worker together, to bound
 * memory.
 */
const maxOutput = 4 * 1024 ** 2;

/**
 * Reads the messages in a worker's journals, attempt by attempt, and keeps only the facts that the swarm's
 * summary needs.
 */
export class WorkerFactsReader {
  readonly #storyById = new Map<string, StoryFacts>();
  #workMs: number | null = null;
  #usage: Usage | null = null;
  #outputLeft = maxOutput;
  #attempt = 0;
  #soFar: Usage = noUsage;
  /**
   * The timestamp of the newest message, in milliseconds since 1970; null before the first message of a run
   * of the adapter.
   */
  #lastMs: number | null = null;
  #storyId: string | null = null;

  /**
   * Begins the worker's next attempt. All messages that the caller adds after this call belong to the
   * attempt.
   */
  begin(attempt: number): void {
    this.#attempt = attempt;
    this.#soFar = noUsage;
    this.#lastMs = null;
    this.#storyId = null;
  }

  add(message: JournalledMessage): void {
    this.#hearTime(Date.parse(message.timestamp));
    if (message.type === "progress-update") this.#hearProgress(message.payload);
    if (message.type === "usage") this.#hearUsage(message.payload);
    // The time between the end of one run and the start of the next is not working time.
    if (message.type === "completion" || message.type === "error") this.#lastMs = null;
  }

  facts(): WorkerFacts {
    return { workMs: this.#workMs, usage: this.#usage, storyById: this.#storyById };
  }

  #hearTime(nowMs: number): void {
    if (!Number.isFinite(nowMs)) return;
    // If the clock was set back, the working time must not shrink.
    const spentMs = this.#lastMs === null ? 0 : Math.max(0, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    this.#workMs = (this.#workMs ?? 0) + spentMs;
    this.#change(this.#storyId, (story) => ({ ...story, workMs: story.workMs + spentMs }));
  }

  #hearProgress(said: ProgressUpdate["payload"]): void {
    const { storyId, status, output, commit, checks, reason, failedWork } = said;
    const known = this.#storyById.get(storyId);
    if (!known && this.#storyById.size >= maxStories) return;
    this.#storyId = status === "in_progress" ? storyId : null;
    this.#storyById.set(storyId, {
      attempt: this.#attempt,
      status,
      output,
      commit: commit ?? null,
      reason: reason ?? null,
      checks: (checks ?? []).map((check) => this.#bounded(check)),
      failedCommit: failedWork?.commit ?? null,
      workMs: known?.workMs ?? 0,
      usage: known?.usage ?? null,
    });
  }

  #hearUsage(said: UsageMessage["payload"]): void {
    const { storyId, costUsd = null, ...tokens } = said;
    const now: Usage = { ...tokens, costUsd };
    const more = sinceThen(now, this.#soFar);
    this.#soFar = now;
    this.#usage = addUsage(this.#usage, more);
    this.#change(storyId, (story) => ({ ...story, usage: addUsage(story.usage, more) }));
  }

  #change(storyId: string | null, change: (story: StoryFacts) => StoryFacts): void {
    const story = storyId === null ? undefined : this.#storyById.get(storyId);
    if (storyId !== null && story) this.#storyById.set(storyId, change(story));
  }

  #bounded(check: CheckResult): CheckResult {
    const limit = Math.min(this.#outputLeft, check.exitCode === 0 ? maxPassedLength : check.output.length);
    const output = limit <= 0 ? "" : truncateTextStart(check.output, limit);
    this.#outputLeft -= output.length;
    return { ...check, output };
  }
}

const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: null,
};

/**
 * Adds the tokens and costs of two usages. The cost of the sum is null only if both costs are unknown, so
 * that an unknown cost never appears as 0.
 */
export function addUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return one ?? other;
  return {
    ...mergeTokens(one, other),
    costUsd: addCost(one.costUsd, other.costUsd),
  };
}

function addCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : rounded(one + other);
}

/** Rounds a cost to millionths of a dollar, because sums of binary fractions have rounding errors. */
function rounded(costUsd: number): number {
  return Math.round(costUsd * 1e6) / 1e6;
}

function sinceThen(now: Usage, then: Usage): Usage {
  const more = (after: number, before: number): number => Math.max(0, after - before);
  return {
    ...mergeTokens(now, then, more),
    costUsd: now.costUsd === null ? null : rounded(more(now.costUsd, then.costUsd ?? 0)),
  };
}
