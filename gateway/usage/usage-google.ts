import { mergeCounts, type TokenCounts, zeroTokenCounts } from "../../src/usage/spending.ts";
import {
  type ExtractedJsonRecord,
  findExtractedValue,
  findExtractedValues,
  hasExtractedValue,
} from "./extracted-values.ts";
import {
  hasAnyMember,
  type ReportedUsage,
  readTokenCount,
  toValidModelName,
  toValidTokenCounts,
  type UsageRecordReader,
  usageOfRefusedCall,
} from "./read-usage.ts";

/** The price in US dollars of one Google search that the API runs for the model. */
const searchUsd = 0.035;

const countNames = [
  "promptTokenCount",
  "cachedContentTokenCount",
  "toolUsePromptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount",
] as const;

/** The token counts of an answer, by the categories of Gemini's usage report. */
type GoogleUsage = Readonly<Record<(typeof countNames)[number], number>>;

/**
 * Reads the usage from an answer of Gemini's generateContent; each event of a stream reports the totals so
 * far. If the user logs in with a subscription, the API wraps each event in a field `response`.
 */
export function googleReader(): UsageRecordReader {
  let model: string | null = null;
  let reported: GoogleUsage | null = null;
  let isFinished = false;
  let hasBegun = false;
  let hasFailed = false;
  let isUncertain = false;
  let isReported = false;
  let searches = 0;

  const takePart = (record: ExtractedJsonRecord, before: string): void => {
    const at = (path: string): unknown => findExtractedValue(record, before + path);
    model = toValidModelName(at("modelVersion")) ?? model;
    const queries = at("candidates.*.groundingMetadata.webSearchQueries");
    if (Array.isArray(queries)) searches = Math.max(searches, queries.length);
    const candidates = findExtractedValues(record, `${before}candidates.*?`).length;
    const reasons = findExtractedValues(record, `${before}candidates.*.finishReason`);
    if (candidates > 0) {
      hasBegun = true;
      isFinished = reasons.filter((reason) => typeof reason === "string").length >= candidates;
      isReported = false;
    }
    if (typeof at("promptFeedback.blockReason") === "string") isFinished = true;
    if (!hasExtractedValue(record, `${before}usageMetadata`)) return;
    const now = reportedIn(at("usageMetadata"));
    isReported = now !== null;
    isUncertain ||= !isReported;
    // Keeps the larger counts, because a later report may omit a count.
    if (now !== null) reported = mergeCounts(reported ?? now, now, Math.max);
  };
  return {
    paths: ["error", ...partPaths, ...partPaths.map((path) => `response.${path}`)],
    take(record) {
      takePart(record, "");
      takePart(record, "response.");
      hasFailed ||= hasExtractedValue(record, "error");
    },
    result(isWhole): ReportedUsage {
      if (hasFailed && reported === null && !hasBegun) return { model, ...usageOfRefusedCall };
      // The answer is over when each candidate has a finish reason. A complete JSON text alone proves no end, since it
      // may be one of several lines.
      const isOver = isFinished || (isWhole && !hasBegun);
      const isLast = isOver && isReported && !hasFailed && !isUncertain;
      const counts = reported === null ? null : countsOf(reported, searches * searchUsd);
      return { model, counts, isComplete: isLast && counts !== null };
    },
  };
}

const partPaths = [
  "modelVersion",
  "usageMetadata",
  "promptFeedback.blockReason",
  "candidates.*?",
  "candidates.*.finishReason",
  "candidates.*.groundingMetadata.webSearchQueries",
];

function reportedIn(usage: unknown): GoogleUsage | null {
  if (!hasAnyMember(usage, "promptTokenCount", "candidatesTokenCount", "totalTokenCount")) return null;
  const reported = Object.fromEntries(countNames.map((name) => [name, readTokenCount(usage, name)]));
  return Object.values(reported).some(Number.isNaN) ? null : (reported as GoogleUsage);
}

function countsOf(reported: GoogleUsage, feeUsd: number): TokenCounts | null {
  const cacheReadTokens = Math.min(reported.promptTokenCount, reported.cachedContentTokenCount);
  const input = reported.promptTokenCount + reported.toolUsePromptTokenCount;
  return toValidTokenCounts({
    ...zeroTokenCounts,
    inputTokens: input - cacheReadTokens,
    // Counts tokens that only the total includes as output, which costs more.
    outputTokens: Math.max(
      reported.candidatesTokenCount + reported.thoughtsTokenCount,
      reported.totalTokenCount - input,
    ),
    cacheReadTokens,
    feeUsd,
  });
}
