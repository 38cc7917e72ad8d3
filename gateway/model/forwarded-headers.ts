import type { ModelEndpoint } from "../../src/contract/gateway.ts";

type Api = NonNullable<ModelEndpoint["api"]>;

/**
 * The request headers that the gateway forwards to every API; they describe the client and the body. It does
 * not forward unknown headers, because they may be credentials for another service at the same URL.
 */
const ofAll: readonly string[] = [
  "accept",
  "accept-language",
  "content-type",
  "content-encoding",
  "user-agent",
  "sec-fetch-mode",
  "idempotency-key",
  "x-session-affinity",
  "x-session-id",
  "x-parent-session-id",
  "x-client-request-id",
];

/** The headers in which the APIs' public client libraries describe themselves. */
const stainless: readonly string[] = [
  "arch",
  "lang",
  "os",
  "package-version",
  "runtime",
  "runtime-version",
  "retry-count",
  "timeout",
  "helper",
  "helper-method",
  "poll-helper",
  "custom-poll-interval",
  "async",
  "read-timeout",
].map((name) => `x-stainless-${name}`);

const claudeCode: readonly string[] = [
  "session-id",
  "agent-id",
  "parent-agent-id",
  "agent-type",
  "auxiliary-type",
  "prompt-id",
  "request-class",
  "compaction",
  "context-compacted",
].map((name) => `x-claude-code-${name}`);

const codex: readonly string[] = [
  "x-codex-beta-features",
  "x-codex-window-id",
  "x-codex-turn-metadata",
  "x-codex-turn-state",
  "x-openai-internal-codex-responses-lite",
  "x-openai-subagent",
  "session-id",
  "session_id",
  "thread-id",
  "conversation_id",
  "originator",
  "version",
];

/**
 * The request headers that may be forwarded, by API. The lists come from the traffic or documentation of the
 * supported agents.
 */
const headersByApi: Readonly<Record<Api, ReadonlySet<string>>> = {
  anthropic: new Set([
    ...ofAll,
    ...stainless,
    ...claudeCode,
    "anthropic-version",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "x-app",
  ]),
  openai: new Set([...ofAll, ...stainless, ...codex, "openai-beta"]),
  google: new Set([...ofAll, "x-goog-api-client", "x-gemini-api-privileged-user-id"]),
};

/** The query parameters that may be forwarded, by API. */
const parametersByApi: Readonly<Record<Api, ReadonlySet<string>>> = {
  anthropic: new Set(["beta", "limit", "after_id", "before_id"]),
  openai: new Set(["limit", "after", "order"]),
  google: new Set(["alt", "$alt", "pageSize", "pageToken"]),
};

type Passing = Pick<ModelEndpoint, "api" | "pass">;

/**
 * Whether the gateway forwards a request header. The name of the header must be in lower case, as Node gives
 * it.
 */
export function isForwardedHeader(endpoint: Passing, name: string): boolean {
  return isListed(headersByApi, endpoint, name);
}

/**
 * Returns the query parameters that the gateway forwards, with a leading question mark. Returns an empty text
 * if it forwards none.
 */
export function toForwardedQuery(endpoint: Passing, query: string): string {
  // Compares the name without percent-decoding, since clients do not encode these names.
  const isNamed = (pair: string): boolean => isListed(parametersByApi, endpoint, pair.split("=")[0] ?? "");
  const kept = query.split("&").filter((part) => part !== "" && part.split(";").every(isNamed));
  return kept.length > 0 ? `?${kept.join("&")}` : "";
}

/**
 * Whether the gateway forwards a header or query parameter with this name. For an unknown API (null), a name
 * is allowed if any API allows it.
 */
function isListed(
  listed: Readonly<Record<Api, ReadonlySet<string>>>,
  { api, pass = [] }: Passing,
  name: string,
): boolean {
  if (pass.includes(name)) return true;
  return api === null ? Object.values(listed).some((names) => names.has(name)) : listed[api].has(name);
}
