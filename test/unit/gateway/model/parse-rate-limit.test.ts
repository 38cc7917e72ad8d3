import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRateLimitEnd } from "../../../../gateway/model/parse-rate-limit.ts";

type Api = Parameters<typeof parseRateLimitEnd>[0];
const now = new Date("2026-11-18T12:00:00.000Z");
const day = 86_400;

interface Said {
  readonly api?: Api;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Seconds from now; null for no limit. */
function limited({ api = "anthropic", status = 429, headers = {}, body = "" }: Said): number | null {
  const named = new Map(Object.entries(headers));
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const until = parseRateLimitEnd(api, { status, header: (name) => named.get(name), body: text }, now);
  return until === null ? null : (until.getTime() - now.getTime()) / 1000;
}

const at = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const unknown = 5;

describe("retry-after", () => {
  test.each([
    ["37", 37],
    ["0.5", 0.5],
    [" 12 ", 12],
    [at(90).toUTCString(), 90],
    ["0", unknown],
    [at(-90).toUTCString(), unknown],
    ["-5", unknown],
    ["soon", unknown],
    ["1e9", unknown],
    ["2031", 2031],
    ["", unknown],
    ["99999999999", 7 * day],
    ["999999999999999999999999", unknown],
  ])("%s is %d s", (value, seconds) => {
    for (const api of ["anthropic", "openai", "google"] as const)
      expect(limited({ api, headers: { "retry-after": value } })).toBe(seconds);
  });

  test("in milliseconds is more exact", () => {
    expect(limited({ api: "openai", headers: { "retry-after": "2", "retry-after-ms": "1250" } })).toBe(1.25);
  });

  test.each([529, 503])("counts with %d, which without it says nothing", (status) => {
    expect(limited({ status, headers: { "retry-after": "20" } })).toBe(20);
    expect(limited({ status })).toBeNull();
    const headers = { "anthropic-ratelimit-unified-reset": String(at(900).getTime() / 1000) };
    expect(limited({ status, headers })).toBeNull();
  });

  test.each([200, 400, 401, 403, 404, 413, 500, 502, 504])("does not count with %d", (status) => {
    expect(limited({ status, headers: { "retry-after": "20" } })).toBeNull();
  });
});

describe("Anthropic", () => {
  const unified = (seconds: number, status?: string): Record<string, string> => ({
    "anthropic-ratelimit-unified-reset": String(at(seconds).getTime() / 1000),
    ...(status === undefined ? {} : { "anthropic-ratelimit-unified-status": status }),
  });

  test("says when a subscription's hours are over", () => {
    expect(limited({ headers: unified(7200) })).toBe(7200);
    expect(limited({ headers: unified(7200, "rejected") })).toBe(7200);
    expect(limited({ headers: { ...unified(7200, "rejected"), "retry-after": "7190" } })).toBe(7200);
  });

  test("says it with calls, too, that were refused for something else", () => {
    expect(limited({ headers: { ...unified(7200, "allowed"), "retry-after": "9" } })).toBe(9);
    expect(limited({ headers: unified(7200, "allowed_warning") })).toBe(unknown);
  });

  test("and no other API says it like that", () => {
    expect(limited({ api: "openai", headers: unified(7200) })).toBe(unknown);
  });

  test("says of each bucket when it is full: those count that are empty", () => {
    const bucket = (name: string, remaining: string, seconds: number): Record<string, string> => ({
      [`anthropic-ratelimit-${name}-remaining`]: remaining,
      [`anthropic-ratelimit-${name}-reset`]: at(seconds).toISOString(),
    });
    const headers = {
      ...{ ...bucket("requests", "49", 400), ...bucket("tokens", "0", 20) },
      ...{ ...bucket("input-tokens", "0", 31), ...bucket("output-tokens", "8000", 500) },
    };
    expect(limited({ headers })).toBe(31);
    expect(limited({ headers: { ...headers, "retry-after": "4" } })).toBe(4);
    expect(limited({ headers: bucket("requests", "0", -30) })).toBe(unknown);
    expect(
      limited({ headers: { ...bucket("requests", "0", 1), "anthropic-ratelimit-requests-reset": "12" } }),
    ).toBe(unknown);
  });
});

describe("OpenAI", () => {
  test.each([
    ["1s", 1],
    ["6m0s", 360],
    ["250ms", 0.25],
    ["1h2m3.5s", 3723.5],
    ["2d", 2 * day],
    ["30d", 7 * day],
    ["-1s", unknown],
    ["5", unknown],
    ["s", unknown],
    ["1s ", unknown],
  ])("says when a bucket is full: %s", (reset, seconds) => {
    const headers = { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": reset };
    expect(limited({ api: "openai", headers })).toBe(seconds);
  });

  test("says it of buckets that are not empty, too", () => {
    const headers = { "x-ratelimit-remaining-requests": "12", "x-ratelimit-reset-requests": "6m0s" };
    expect(limited({ api: "openai", headers })).toBe(unknown);
  });

  test.each([
    [{ resets_in_seconds: 8640 }, 8640],
    [{ resets_at: at(3600).getTime() / 1000 }, 3600],
    [{ resets_in_seconds: "77" }, 77],
    [{ resets_in_seconds: 30 * day }, 7 * day],
    [{ resets_in_seconds: -4, resets_at: 3 }, unknown],
    [{ resets_at: {} }, unknown],
    [{ resets_in_seconds: null, resets_at: 1e300 }, unknown],
  ])("says when a subscription's limit ends: %j", (facts, seconds) => {
    const body = { error: { type: "usage_limit_reached", message: "…", plan_type: "plus", ...facts } };
    expect(limited({ api: "openai", body })).toBe(seconds);
  });

  test("without money is not asked again at once", () => {
    expect(limited({ api: "openai", body: { error: { code: "insufficient_quota" } } })).toBe(600);
  });
});

describe("Gemini", () => {
  const body = (retryDelay: unknown): object => ({
    error: {
      ...{ code: 429, status: "RESOURCE_EXHAUSTED" },
      details: [
        null,
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
      ],
    },
  });

  test.each([
    ["37s", 37],
    ["37.5s", 37.5],
    ["0s", unknown],
    ["", unknown],
    [37, unknown],
  ])("says when to try again: %j", (delay, seconds) => {
    expect(limited({ api: "google", body: body(delay) })).toBe(seconds);
    expect(limited({ api: "google", body: [body(delay)] })).toBe(seconds);
  });
});

describe("nonsense", () => {
  test.each([
    "",
    "null",
    "[]",
    "{",
    '{"error":"x"}',
    '{"error":{"details":"x"}}',
    '{"__proto__":{"error":{"resets_at":9}}}',
    "[".repeat(100_000),
  ])("in a body leaves the short wait: %#", (body) => {
    for (const api of ["anthropic", "openai", "google"] as const)
      expect(limited({ api, body })).toBe(unknown);
  });

  test("of any kind never throws, is never in the past, and never longer than a week", () => {
    const names = [
      "retry-after",
      "retry-after-ms",
      "anthropic-ratelimit-unified-reset",
      "x-ratelimit-reset-tokens",
    ];
    const values = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.constantFrom("0", "9s", "99999999h", "NaN", "Infinity"),
    );
    fc.assert(
      fc.property(
        fc.constantFrom<Api>("anthropic", "openai", "google"),
        fc.constantFrom(429, 503, 529),
        fc.dictionary(fc.constantFrom(...names, "x-ratelimit-remaining-tokens"), values),
        fc.oneof(fc.json(), fc.string()),
        (api, status, headers, body) => {
          const seconds = limited({ api, status, headers, body });
          if (seconds === null) expect(status).not.toBe(429);
          if (seconds === null) return;
          expect(seconds).toBeGreaterThan(0);
          expect(seconds).toBeLessThanOrEqual(7 * day);
        },
      ),
    );
  });
});
