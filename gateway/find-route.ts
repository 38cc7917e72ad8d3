/** What a request asks for, by its target alone. */
export type Route =
  | { readonly kind: "model"; readonly endpoint: string; readonly path: string; readonly query: string }
  | { readonly kind: "mirror"; readonly token: string; readonly mirror: string; readonly rest: string }
  /** Not one of ours, or not to be trusted. */
  | { readonly kind: "none"; readonly why: "path" | "not-allowed" };

const longestTarget = 8_000;
/** Spellings by which a path could be another one for whoever reads it next. */
const ambiguous = /\.\.|\/\/|\/\.(?=\/|\?|$)|%2e|%2f|%5c|%25|%[01]|%7f|[\\\s#;]/i;
/** A package with a scope has this in its name, and registries know it so. */
const scoped = /(\/@[a-z0-9._~-]+)%2f(?=[a-z0-9._~-])/i;

/** Reads a request's target; one that has two readings has none. */
export function findRoute(target: string): Route {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return { kind: "none", why: "not-allowed" };
  if (!/^\/[\x21-\x7e]*$/.test(target) || target.length > longestTarget) return { kind: "none", why: "path" };
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

/** Null for what is no text. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** What each API has that agents need: a key could do more. */
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

/** Whether a call of a model is one of those that agents need. An API that nobody knows may have any. */
export function isModelCall(api: keyof typeof callsByApi | null, method: string, path: string): boolean {
  if (api === null) return ["GET", "POST", "HEAD"].includes(method);
  return callsByApi[api].some(([allowed, pattern]) => allowed === method && pattern.test(path));
}

/** The tokens that a request shows, wherever a key would stand. */
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

/** The token of who asks for a tunnel. */
export function tunnelToken(header: string | undefined): string[] {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,400})$/i.exec(header ?? "") ?? [];
  const [, token] = /^[^:]*:(.*)$/.exec(Buffer.from(encoded ?? "", "base64").toString("latin1")) ?? [];
  return token === undefined ? [] : [token];
}

function bearer(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === "string" ? header : header?.join(",");
  return text?.replace(/^Bearer /i, "");
}
