import type { IncomingHttpHeaders } from "node:http";
import { decodePercent, type ModelApiName } from "../http/request-paths.ts";

/** The destination of a request, derived from the request's target (path and query). */
export type RequestRoute =
  | { readonly kind: "model"; readonly endpoint: string; readonly path: string; readonly query: string }
  | { readonly kind: "mirror"; readonly token: string; readonly mirror: string; readonly rest: string }
  /** The request has no destination, because its target is unknown or ambiguous. */
  | { readonly kind: "none"; readonly why: "path" | "not-allowed" };

const maxTargetLength = 8_000;
/** Matches a target that a server behind the gateway could read as a different path. */
const ambiguous = /\.\.|\/\/|\/\.(?=\/|\?|$)|%2e|%2f|%5c|%25|%[01]|%7f|[\\\s#;]/i;
/** Matches a scoped npm package's name that is written with `%2f`. Registries accept this form. */
const scoped = /(\/@[a-z0-9._~-]+)%2f(?=[a-z0-9._~-])/i;

/** Parses a request's target into a route. An ambiguous target has the route `none`. */
export function parseRequestRoute(target: string): RequestRoute {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return { kind: "none", why: "not-allowed" };
  if (!/^\/[\x21-\x7e]*$/.test(target) || target.length > maxTargetLength)
    return { kind: "none", why: "path" };
  const [path = "", ...more] = target.split("?");
  if (ambiguous.test(path.replace(scoped, "$1/")) || decodePercent(path) === null)
    return { kind: "none", why: "path" };
  const model = /^\/m\/([a-z][a-z0-9-]{0,39})(\/.*)$/.exec(path);
  if (model) {
    const [, endpoint = "", rest = ""] = model;
    return { kind: "model", endpoint, path: rest, query: more.join("?") };
  }
  const mirror = /^\/r\/([A-Za-z0-9_-]{1,200})\/([a-z][a-z0-9-]{0,39})(\/.*)$/.exec(path);
  if (!mirror) return { kind: "none", why: "path" };
  const [, token = "", name = "", rest = ""] = mirror;
  const query = more.length > 0 ? `?${more.join("?")}` : "";
  return { kind: "mirror", token, mirror: name, rest: `${rest}${query}` };
}

/**
 * For each API, the calls that agents need. The gateway refuses all other calls, although its API key would
 * allow them.
 */
const callsByApi: Readonly<Record<ModelApiName, readonly (readonly [string, RegExp])[]>> = {
  anthropic: [
    ["POST", /^\/v1\/messages(\/count_tokens)?$/],
    ["GET", /^\/v1\/models(\/[\w.:@-]+)?$/],
  ],
  openai: [
    ["POST", /^\/v1\/(responses|chat\/completions|embeddings)$/],
    ["POST", /^\/v1\/responses\/compact$/],
    ["GET", /^\/v1\/models(\/[\w.:@-]+)?$/],
  ],
  google: [
    [
      "POST",
      /^\/v1(alpha|beta)?\/models\/[\w.@-]+:(generateContent|streamGenerateContent|countTokens|embedContent)$/,
    ],
    ["GET", /^\/v1(alpha|beta)?\/models(\/[\w.@-]+)?$/],
  ],
};

/**
 * Whether the gateway allows a call to a model's API. For an unknown API (null), allows any GET, POST or
 * HEAD.
 */
export function isAllowedModelCall(api: ModelApiName | null, method: string, path: string): boolean {
  if (api === null) return ["GET", "POST", "HEAD"].includes(method);
  return callsByApi[api].some(([allowed, pattern]) => allowed === method && pattern.test(path));
}

/**
 * Returns all tokens in a request. Clients send the worker's token as their API key, in various headers or in
 * the query.
 */
export function findWorkerTokensInRequest(headers: IncomingHttpHeaders, target: string): string[] {
  return [
    headers["x-api-key"],
    headers["x-goog-api-key"],
    headers.authorization?.replace(/^Bearer /i, ""),
    ...Array.from(target.matchAll(/[?&]key=([^&]*)/gi), ([, key]) => key),
  ].flatMap((word) => word ?? []);
}

/**
 * Returns the worker token from the `proxy-authorization` header of a CONNECT request, as a list. The list is
 * empty if the header has no token.
 */
export function findWorkerTokensInConnectRequest(header: string): string[] {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,400})$/i.exec(header) ?? [];
  const [, token] = /^[^:]*:(.*)$/.exec(Buffer.from(encoded ?? "", "base64").toString("latin1")) ?? [];
  return token === undefined ? [] : [token];
}
