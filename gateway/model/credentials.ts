import type { ModelEndpoint } from "../../src/contract/gateway.ts";
import { secretsInHeaders } from "../http/secret-scrubber.ts";
import { isForwardedHeader } from "./forwarded-headers.ts";
import type { SubscriptionLogins } from "./subscription-logins.ts";

/**
 * The credential for one call to a model. Also names the secrets that the gateway must remove from the
 * answer.
 */
export interface ModelCallCredential {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /**
   * The token of a subscription's login, which the gateway renews if the API refuses it; null if the
   * credential is of another kind.
   */
  readonly loginToken: string | null;
}

/** The header that Anthropic's API requires together with the token of a subscription's login. */
const loginFlag = { "anthropic-beta": "oauth-2025-04-20" };

export async function credentialForModelEndpoint(
  endpoint: ModelEndpoint,
  logins: SubscriptionLogins,
): Promise<ModelCallCredential> {
  const { credential } = endpoint;
  if (credential.kind === "login") return credentialFromLoginToken(await logins.token(endpoint, credential));
  const values = Object.entries(credential.headers).filter(([name]) => name !== "anthropic-beta");
  return {
    headers: credential.headers,
    secrets: secretsInHeaders(values.map(([, value]) => value)),
    loginToken: null,
  };
}

export function credentialFromLoginToken(token: string): ModelCallCredential {
  return { headers: { authorization: `Bearer ${token}`, ...loginFlag }, secrets: [token], loginToken: token };
}

/**
 * Returns the headers to send to a model's API: those of the agent's headers that may be forwarded, and the
 * endpoint's credential.
 */
export function buildModelRequestHeaders(
  endpoint: Pick<ModelEndpoint, "api" | "pass">,
  requested: Readonly<Record<string, string | readonly string[] | undefined>>,
  { headers: own }: Pick<ModelCallCredential, "headers">,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(requested))
    if (value !== undefined && isForwardedHeader(endpoint, name))
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
