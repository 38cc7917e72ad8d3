import type { ModelEndpoint } from "../src/domain/generated/gateway.ts";
import type { Logins } from "./logins.ts";
import { passesHeader } from "./passed-words.ts";

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

/** The headers of a call as it goes on: what is listed of the agent's, and the endpoint's own credential. */
export function headersToModel(
  endpoint: Pick<ModelEndpoint, "api" | "pass">,
  asked: Readonly<Record<string, string | readonly string[] | undefined>>,
  { headers: own }: Pick<CallCredential, "headers">,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(asked))
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
