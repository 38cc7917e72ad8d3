/** The destination of a request, by its target alone. */
export type Route =
  | { readonly kind: "model"; readonly endpoint: string; readonly path: string; readonly query: string }
  | { readonly kind: "mirror"; readonly token: string; readonly mirror: string; readonly rest: string }
  /** An unknown or ambiguous target. */
  | { readonly kind: "none"; readonly why: "path" | "not-allowed" };

const maxTargetLength = 8_000;
/** Spellings that another server could read as a different path. */
const ambiguous = /\.\.|\/\/|\/\.(?=\/|\?|$)|%2e|%2f|%5c|%25|%[01]|%7f|[\\\s#;]/i;
/** npm writes a scoped package's name like this, and registries accept it. */
const scoped = /(\/@[a-z0-9._~-]+)%2f(?=[a-z0-9._~-])/i;

/** Parses a request's target; an ambiguous one has no route. */
export function findRoute(target: string): Route {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return { kind: "none", why: "not-allowed" };
  if (!/^\/[\x21-\x7e]*$/.test(target) || target.length > maxTargetLength)
    return { kind: "none", why: "path" };
  const [path = "", ...more] = target.split("?");
  if (ambiguous.test(path.replace(scoped, "$1/")) || decoded(path) === null)
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

/** The percent-decoded text; null when it is malformed. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The calls of each API that agents need. A key would allow more, so all others are refused. */
const callsByApi: Readonly<
  Record<"anthropic" | "openai" | "google", readonly (readonly [string, RegExp])[]>
> = {
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

/** Whether agents need this call. With an unknown API (null), any GET, POST or HEAD is allowed. */
export function isModelCall(api: keyof typeof callsByApi | null, method: string, path: string): boolean {
  if (api === null) return ["GET", "POST", "HEAD"].includes(method);
  return callsByApi[api].some(([allowed, pattern]) => allowed === method && pattern.test(path));
}

/** The tokens in a request, from every place where a client may put its API key. */
export function tokensOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  target: string,
): string[] {
  const words = [
    headers["x-api-key"],
    headers["x-goog-api-key"],
    bearer(headers["authorization"]),
    ...Array.from(target.matchAll(/[?&]key=([^&]*)/gi), ([, key]) => key),
  ];
  return words.flatMap((word) => (word === undefined ? [] : typeof word === "string" ? [word] : [...word]));
}

/** The token in a CONNECT request's `proxy-authorization`. */
export function tunnelToken(header: string | undefined): string[] {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,400})$/i.exec(header ?? "") ?? [];
  const [, token] = /^[^:]*:(.*)$/.exec(Buffer.from(encoded ?? "", "base64").toString("latin1")) ?? [];
  return token === undefined ? [] : [token];
}

function bearer(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === "string" ? header : header?.join(",");
  return text?.replace(/^Bearer /i, "");
}
