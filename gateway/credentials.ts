import type { ModelEndpoint } from "../src/domain/generated/gateway.ts";
import type { Logins } from "./logins.ts";

/** What lets one call in, and what must never come back in an answer. */
export interface CallCredential {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** The token of a login, should it be refused. */
  readonly loginToken: string | null;
}

/** Beside a login, this API wants to hear that it is one. */
const loginFlag = { "anthropic-beta": "oauth-2025-04-20" };

export async function credentialFor(endpoint: ModelEndpoint, logins: Logins): Promise<CallCredential> {
  const { credential } = endpoint;
  if (credential.kind === "login") return loginCredential(await logins.token(endpoint, credential));
  const values = Object.entries(credential.headers).filter(([name]) => name !== "anthropic-beta");
  return {
    headers: credential.headers,
    secrets: values.flatMap(([, value]) => [value, value.split(" ").at(-1) ?? ""]),
    loginToken: null,
  };
}

export function loginCredential(token: string): CallCredential {
  return { headers: { authorization: `Bearer ${token}`, ...loginFlag }, secrets: [token], loginToken: token };
}

/** What belongs to one connection, or would say who asks. */
const left: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"],
  ...["trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect", "cookie"],
  ...["authorization", "x-api-key", "x-goog-api-key", "forwarded", "x-forwarded-for", "x-forwarded-host"],
  // Other accounts' keys: what an agent reads could be sent to who owns them.
  ...["api-key", "x-goog-iam-authorization-token", "x-amz-security-token", "ocp-apim-subscription-key"],
  // An answer in another encoding, or in parts, could hide a key from whoever looks for it, and tokens from whoever counts.
  ...["accept-encoding", "accept-charset", "range", "if-range"],
  // They make another call of it than the one that was looked at.
  ...["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"],
]);

/** The headers of a call as it goes on. */
export function headersToModel(
  asked: Readonly<Record<string, string | readonly string[] | undefined>>,
  { headers: own }: Pick<CallCredential, "headers">,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(asked))
    if (value !== undefined && !left.has(name))
      headers[name] = typeof value === "string" ? value : [...value];
  for (const [name, value] of Object.entries(own))
    headers[name] = name === "anthropic-beta" ? join(headers[name], value) : value;
  return headers;
}

function join(list: string | string[] | undefined, value: string): string {
  const flags = String(list ?? "")
    .split(",")
    .map((flag) => flag.trim());
  return [...new Set([...flags, ...value.split(",")])].filter((flag) => flag !== "").join(",");
}
