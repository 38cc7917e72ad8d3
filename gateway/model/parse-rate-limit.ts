import type { ModelApiName } from "../http/request-paths.ts";
import { parseJsonOrUndefined } from "../usage/buffered-json-value.ts";
import { readOwnMember } from "../usage/read-usage.ts";

/** The parts of a model API's answer that can state a rate limit: its status, headers and body. */
export interface RateLimitAnswer {
  readonly status: number;
  /** Returns the value of a header. The given name must be in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly body: string;
}

const maxMs = 7 * 24 * 3_600_000;
/**
 * The pause, in milliseconds, after an answer that states a rate limit but no end of the limit. The pause is
 * short, because clients wait longer by themselves if the API refuses again.
 */
const unknownMs = 5000;
/**
 * The pause, in milliseconds, after an API reports that the account has no credit. The pause is long, because
 * retries fail until the user has paid.
 */
const noCreditMs = 600_000;

/**
 * Returns the time from which the API accepts calls with this credential again. Returns null if the answer
 * states no rate limit.
 */
export function parseRateLimitEnd(api: ModelApiName, answer: RateLimitAnswer, now: Date): Date | null {
  const { status } = answer;
  if (status !== 429 && status !== 529 && status !== 503) return null;
  const error = status === 429 ? errorIn(answer.body) : undefined;
  const stated = [
    ...retryAfter(answer, now),
    ...(status === 429 ? [...unifiedReset(api, answer), ...resetInBody(api, error, now)] : []),
  ];
  // Prefers a stated time to the reset time of a rate limit: the API accepts calls long before that limit is fully
  // available again.
  const firm = latest(stated, now);
  if (firm !== null || status !== 429) return firm;
  const otherwise = hasNoCredit(error) ? noCreditMs : unknownMs;
  return latest(bucketResets(api, answer, now), now) ?? new Date(now.getTime() + otherwise);
}

/**
 * Returns the latest of the given times, in milliseconds since 1970; null if none is in the future. If the
 * latest time is more than a week ahead, returns the time one week from now.
 */
function latest(moments: readonly number[], now: Date): Date | null {
  const coming = moments.filter((moment) => moment > now.getTime());
  if (coming.length === 0) return null;
  return new Date(Math.min(Math.max(...coming), now.getTime() + maxMs));
}

function retryAfter({ header }: RateLimitAnswer, now: Date): number[] {
  const exact = amountOf(header("retry-after-ms"));
  if (exact !== null) return [now.getTime() + exact];
  const text = header("retry-after");
  const seconds = amountOf(text);
  if (seconds !== null) return [now.getTime() + seconds * 1000];
  // Accepts only text that begins with a weekday, as an HTTP date does; `Date.parse` accepts far more.
  return text !== undefined && /^[A-Z][a-z]{2,8},? /.test(text) ? momentOf(text) : [];
}

/**
 * Returns, as a list, the end of a Claude subscription's rate limit in milliseconds since 1970. The list is
 * empty if the API accepted the call, because the header then states only the end of the current window.
 */
function unifiedReset(api: ModelApiName, { header }: RateLimitAnswer): number[] {
  const status = header("anthropic-ratelimit-unified-status") ?? "";
  const seconds = amountOf(header("anthropic-ratelimit-unified-reset"));
  return api !== "anthropic" || status.startsWith("allowed") || seconds === null ? [] : [seconds * 1000];
}

function resetInBody(api: ModelApiName, error: unknown, now: Date): number[] {
  if (api === "openai") {
    const seconds = amountOf(readOwnMember(error, "resets_in_seconds"));
    const moment = amountOf(readOwnMember(error, "resets_at"));
    return [
      ...(seconds === null ? [] : [now.getTime() + seconds * 1000]),
      ...(moment === null ? [] : [moment * 1000]),
    ];
  }
  const details = readOwnMember(error, "details");
  if (api !== "google" || !Array.isArray(details)) return [];
  return details.flatMap((detail: unknown) => {
    const delay = readOwnMember(detail, "retryDelay");
    const ms = typeof delay === "string" ? durationMs(delay) : null;
    return ms === null ? [] : [now.getTime() + ms];
  });
}

const anthropicBuckets = ["requests", "tokens", "input-tokens", "output-tokens"];
const openaiBuckets = ["requests", "tokens"];

/** Returns the times when the API's used-up rate limits reset, in milliseconds since 1970. */
function bucketResets(api: ModelApiName, { header }: RateLimitAnswer, now: Date): number[] {
  if (api === "anthropic")
    return anthropicBuckets
      .map((bucket) => `anthropic-ratelimit-${bucket}`)
      .filter((name) => amountOf(header(`${name}-remaining`)) === 0)
      .flatMap((name) => rfcMoment(header(`${name}-reset`)));
  if (api !== "openai") return [];
  return openaiBuckets
    .filter((bucket) => amountOf(header(`x-ratelimit-remaining-${bucket}`)) === 0)
    .flatMap((bucket) => {
      const ms = durationMs(header(`x-ratelimit-reset-${bucket}`) ?? "");
      return ms === null ? [] : [now.getTime() + ms];
    });
}

function hasNoCredit(error: unknown): boolean {
  return [readOwnMember(error, "code"), readOwnMember(error, "type")].some(
    (word) => word === "insufficient_quota" || word === "billing_error" || word === "usage_not_included",
  );
}

/**
 * Returns the error in the body of an API's answer. Also finds an error inside an array, as in Gemini's
 * streams.
 */
function errorIn(body: string): unknown {
  const parsed = parseJsonOrUndefined(body);
  return readOwnMember(Array.isArray(parsed) ? parsed[0] : parsed, "error");
}

/** Returns the value as a number; null if it is not a non-negative number. */
function amountOf(value: unknown): number | null {
  const isText = typeof value === "string" && /^\d{1,15}(\.\d{1,9})?$/.test(value.trim());
  const amount = isText ? Number(value) : value;
  return typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER ? amount : null;
}

function rfcMoment(text: string | undefined): number[] {
  return text !== undefined && /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/.test(text) ? momentOf(text) : [];
}

function momentOf(text: string): number[] {
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? [] : [moment];
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Parses durations such as `250ms`, `1s`, `6m0s` and `37.5s` into milliseconds; returns null for any other text. */
function durationMs(text: string): number | null {
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|[smhd])){1,6}$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs.get(unit ?? "") ?? 0), 0);
}
