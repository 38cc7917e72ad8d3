import type { ModelEndpoint } from "../src/domain/generated/gateway.ts";
import type { Logins } from "./logins.ts";
import { passesHeader } from "./passed-words.ts";

/** The credential of one call, and the secrets that no answer may contain. */
export interface CallCredential {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** The login's token, to renew it if the API refuses it; null for other credentials. */
  readonly loginToken: string | null;
}

/** Anthropic's API requires this flag with the token of a login. */
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

/** The headers to forward: the agent's allow-listed ones, and the endpoint's credential. */
export function headersToModel(
  endpoint: Pick<ModelEndpoint, "api" | "pass">,
  requested: Readonly<Record<string, string | readonly string[] | undefined>>,
  { headers: own }: Pick<CallCredential, "headers">,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(requested))
    if (value !== undefined && passesHeader(endpoint, name))
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
