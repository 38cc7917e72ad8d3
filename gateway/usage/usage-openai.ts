import { type TokenCounts, zeroTokenCounts } from "../../src/usage/spending.ts";
import {
  type ExtractedJsonRecord,
  findExtractedValue,
  findExtractedValues,
  hasExtractedValue,
} from "./extracted-values.ts";
import {
  hasAnyMember,
  type ReportedUsage,
  readOwnMember,
  readTokenCount,
  toValidModelName,
  toValidTokenCounts,
  type UsageRecordReader,
  usageOfRefusedCall,
} from "./read-usage.ts";

/**
 * The prices of tools that OpenAI runs for the model, in US dollars per use. For images, whose price varies,
 * this is the highest price.
 */
const fees: ReadonlyMap<unknown, number> = new Map([
  ["web_search_call", 0.01],
  ["file_search_call", 0.0025],
  ["code_interpreter_call", 0.03],
  ["image_generation_call", 0.25],
]);

const lastEvents: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "response.done",
]);
const lastStates: ReadonlySet<unknown> = new Set(["completed", "incomplete", "failed", "cancelled"]);

/**
 * Reads the usage from an answer of OpenAI's Responses or Chat Completions API, or of an API compatible with
 * one of them.
 */
export function openaiReader(): UsageRecordReader {
  let model: string | null = null;
  let counts: TokenCounts | null = null;
  let isLast = false;
  let isOver = false;
  let hasBegun = false;
  let hasFailed = false;
  let isUncertain = false;

  const add = (record: ExtractedJsonRecord, before: string): void => {
    const used = findExtractedValues(record, `${before}output.*.type`);
    hasBegun ||= used.length > 0;
    if (!hasExtractedValue(record, `${before}usage`)) return;
    const factor = openaiPriceFactor(findExtractedValue(record, `${before}service_tier`), model);
    const reported = countsOf(findExtractedValue(record, `${before}usage`), factor, used);
    isUncertain ||= reported === null;
    counts = reported ?? counts;
    // A failed call that reports its usage counts as complete, since its cost is known.
    hasFailed = false;
  };
  return {
    paths: [
      "type",
      "object",
      "status",
      "error",
      "choices.*?",
      ...["", "response."].flatMap((before) =>
        ["model", "usage", "service_tier", "output.*.type"].map((path) => before + path),
      ),
    ],
    take(record) {
      const type = findExtractedValue(record, "type");
      const object = findExtractedValue(record, "object");
      const isChat = record.values.has("choices.*?");
      const named = findExtractedValue(record, "response.model") ?? findExtractedValue(record, "model");
      model = toValidModelName(named) ?? model;
      hasFailed ||= type === "error" || type === "response.failed" || hasExtractedValue(record, "error");
      hasBegun ||= isChat || (typeof type === "string" && partOfAnswer.test(type));
      add(record, "");
      add(record, "response.");
      // In a chat stream, the piece with the usage is the last one and has no choices.
      const isSums = object === "chat.completion.chunk" && !isChat && hasExtractedValue(record, "usage");
      isLast ||= lastEvents.has(type) || isSums;
      // A background response is not over when its first answer ends, because it still runs then.
      isOver =
        type === undefined && (object !== "response" || lastStates.has(findExtractedValue(record, "status")));
    },
    done() {
      isLast = true;
    },
    result(isWhole): ReportedUsage {
      if (hasFailed && counts === null && !hasBegun) return { model, ...usageOfRefusedCall };
      const isFinal = (isLast || (isWhole && isOver)) && !hasFailed && !isUncertain;
      return { model, counts, isComplete: isFinal && counts !== null };
    },
  };
}

/** Matches the types of those stream events that the API sends only after the model has begun to answer. */
const partOfAnswer = /^response\..*\.(added|delta|done)$/;

function countsOf(usage: unknown, priceFactor: number, used: readonly unknown[]): TokenCounts | null {
  if (!hasAnyMember(usage, "input_tokens", "prompt_tokens", "output_tokens", "completion_tokens"))
    return null;
  const details =
    readOwnMember(usage, "input_tokens_details") ?? readOwnMember(usage, "prompt_tokens_details");
  const input = readTokenCount(usage, "input_tokens", "prompt_tokens");
  const output = readTokenCount(usage, "output_tokens", "completion_tokens");
  const total = readTokenCount(usage, "total_tokens");
  // Cache reads and cache writes are both parts of the input, each with a different price.
  const cacheReadTokens = Math.min(input, readTokenCount(details, "cached_tokens"));
  const cacheWriteTokens = Math.min(input - cacheReadTokens, readTokenCount(details, "cache_write_tokens"));
  return toValidTokenCounts({
    ...zeroTokenCounts,
    inputTokens: input - cacheReadTokens - cacheWriteTokens,
    // Counts tokens that only the total includes as output, which costs most.
    outputTokens: Math.max(output, total - input),
    cacheReadTokens,
    cacheWriteTokens,
    priceFactor,
    feeUsd: used.reduce<number>((sum, type) => sum + (fees.get(type) ?? 0), 0),
  });
}

/**
 * Returns the factor by which a faster service tier raises a call's price. For a cheaper tier, returns 1: the
 * budget counts the full price.
 */
export function openaiPriceFactor(tier: unknown, model: string | null): number {
  if (tier === "ultrafast") return 6;
  if (tier !== "priority" && tier !== "fast") return 1;
  return model !== null && /gpt-5\.5/.test(model) ? 2.5 : 2;
}
