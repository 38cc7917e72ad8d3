import { mergeCounts, type TokenCounts, zeroTokenCounts } from "../../src/usage/spending.ts";
import { type ExtractedJsonRecord, findExtractedValue, hasExtractedValue } from "./extracted-values.ts";
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

/** The price in US dollars of one web search that the API runs for the model. */
const searchUsd = 0.01;

/**
 * Reads the usage from an answer of Anthropic's Messages API. A stream reports the input tokens in its first
 * event and the output tokens near its end, each as a total so far.
 */
export function anthropicReader(): UsageRecordReader {
  let model: string | null = null;
  let counts: TokenCounts | null = null;
  let progress: "before" | "begun" | "told" | "stopped" = "before";
  let isWholeMessage = false;
  let isUncertain = false;

  const add = (record: ExtractedJsonRecord, path: string): void => {
    if (!hasExtractedValue(record, path)) return;
    const reported = countsOf(findExtractedValue(record, path), model);
    isUncertain ||= reported === null;
    // A stream's counts only grow.
    counts = counts && reported ? mergeCounts(counts, reported, Math.max) : (counts ?? reported);
  };
  return {
    paths: ["type", "model", "usage", "message.model", "message.usage"],
    take(record: ExtractedJsonRecord) {
      const type = findExtractedValue(record, "type");
      model =
        toValidModelName(findExtractedValue(record, "message.model")) ??
        toValidModelName(findExtractedValue(record, "model")) ??
        model;
      if (type === "message_start") {
        progress = "begun";
        add(record, "message.usage");
      } else if (type === "message_delta") {
        if (progress === "begun" && hasExtractedValue(record, "usage")) progress = "told";
        add(record, "usage");
      } else if (type === "message_stop") {
        if (progress === "told") progress = "stopped";
      } else if (type === "message") {
        isWholeMessage = true;
        add(record, "usage");
      } else if (type === "error") {
        // Marks the counts as uncertain, since the API does not report the output written before an error.
        isUncertain ||= progress !== "before";
        if (progress === "before" && !isWholeMessage) counts ??= usageOfRefusedCall.counts;
      } else if (type !== "ping" && progress === "before") progress = "begun";
    },
    result(isWhole): ReportedUsage {
      if (counts === usageOfRefusedCall.counts) return { model, ...usageOfRefusedCall };
      const isLast = progress === "stopped" || (isWholeMessage && isWhole);
      return { model, counts, isComplete: isLast && counts !== null && !isUncertain };
    },
  };
}

function countsOf(usage: unknown, model: string | null): TokenCounts | null {
  if (!hasAnyMember(usage, "input_tokens", "output_tokens")) return null;
  const searches = readTokenCount(readOwnMember(usage, "server_tool_use"), "web_search_requests");
  const reported = sampled(usage);
  // Also sums the rounds of a call, for example one to compact the conversation, since the reported totals omit some
  // rounds.
  const rounds = readOwnMember(usage, "iterations");
  const all = (Array.isArray(rounds) ? rounds : []).map(sampled).reduce(sumOf, zeroTokenCounts);
  return toValidTokenCounts({
    ...mergeCounts(reported, all, Math.max),
    priceFactor: anthropicPriceFactor(
      readOwnMember(usage, "speed"),
      readOwnMember(usage, "inference_geo"),
      model,
    ),
    feeUsd: searches * searchUsd,
  });
}

function sampled(usage: unknown): TokenCounts {
  const written = readOwnMember(usage, "cache_creation");
  const longCacheWriteTokens = readTokenCount(written, "ephemeral_1h_input_tokens");
  const inAll = longCacheWriteTokens + readTokenCount(written, "ephemeral_5m_input_tokens");
  return {
    ...zeroTokenCounts,
    inputTokens: readTokenCount(usage, "input_tokens"),
    outputTokens: readTokenCount(usage, "output_tokens"),
    cacheReadTokens: readTokenCount(usage, "cache_read_input_tokens"),
    cacheWriteTokens: Math.max(readTokenCount(usage, "cache_creation_input_tokens"), inAll),
    longCacheWriteTokens,
  };
}

function sumOf(one: TokenCounts, other: TokenCounts): TokenCounts {
  return mergeCounts(one, other, (amount, more) => amount + more);
}

/** Returns the factor by which a call's price rises with the fast mode and with processing in the US only. */
export function anthropicPriceFactor(speed: unknown, country: unknown, model: string | null): number {
  const fast = model !== null && /opus-4-[67]/.test(model) ? 6 : 2;
  return (speed === "fast" ? fast : 1) * (country === "us" ? 1.1 : 1);
}
