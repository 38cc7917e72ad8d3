import { type EndpointPlan, subscriptionTokenHeader } from "../agents/model-endpoints.ts";
import type { GatewayCredential, ModelEndpoint } from "../contract/gateway.ts";
import { SwarmError } from "../errors/errors.ts";
import { parseClaudeLogin } from "../secrets/claude-login.ts";
import { parseSecretReference, redactSecretReference } from "../secrets/rules/secret-reference.ts";

/** The OAuth server that renews logins of Claude Code, and the OAuth client ID to send to the server. */
export interface ClaudeLoginIssuer {
  readonly refreshUrl: string;
  readonly clientId: string;
}

/** The OAuth server and client ID that Claude Code itself uses. */
const claudeCode: ClaudeLoginIssuer = {
  refreshUrl: "https://platform.claude.com/v1/oauth/token",
  clientId: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
};

type ReadSecret = (reference: string) => Promise<string>;

/**
 * Returns the description of a model endpoint for the gateway, with the credential's secret. The result
 * contains secrets, so the caller must not store it.
 */
export async function resolveModelEndpoint(
  { name, api, url, pass, credential }: EndpointPlan,
  read: ReadSecret,
  issuer: ClaudeLoginIssuer = claudeCode,
): Promise<ModelEndpoint> {
  if (credential.kind === "login") {
    const { reference } = credential;
    const found = byContent(await read(reference), issuer);
    // A renewal makes the old login invalid, so there must be a file in which to store the new one.
    if (found.kind === "login" && parseSecretReference(reference).kind !== "file")
      throw new SwarmError("CREDENTIAL_UNREADABLE", {
        reference: redactSecretReference(reference),
        reason: "a Claude Code login must be stored in a file, in which swarm can save the renewed login",
      });
    return { name, api, url, pass, credential: found };
  }
  const headers = await resolveEndpointHeaders(credential.headers, read);
  return {
    name,
    api,
    url,
    pass,
    credential: { kind: "headers", headers: { ...headers, ...credential.adds } },
  };
}

/**
 * Returns the HTTP headers for a model endpoint or a package registry, with each secret reference replaced by
 * its value.
 */
export async function resolveEndpointHeaders(
  plans: Extract<EndpointPlan["credential"], { kind: "headers" }>["headers"],
  read: ReadSecret,
): Promise<Record<string, string>> {
  const headers: Record<string, string> = {};
  // Read the secrets one after another, because a program that prints a secret may prompt the user.
  for (const [name, { before, reference }] of Object.entries(plans)) {
    const secret = await read(reference);
    if (parseClaudeLogin(secret) !== null)
      throw new SwarmError("CREDENTIAL_UNREADABLE", {
        reference: redactSecretReference(reference),
        reason: "the credential is a login of Claude Code, not an API key",
      });
    headers[name] = `${before}${secret}`;
  }
  return headers;
}

/**
 * Creates the gateway's credential from a secret. Detects by the secret's content whether it is a Claude Code
 * login, a subscription token or an API key.
 */
function byContent(secret: string, { refreshUrl, clientId }: ClaudeLoginIssuer): GatewayCredential {
  const login = parseClaudeLogin(secret);
  if (login !== null) return { kind: "login", ...login, refreshUrl, clientId };
  if (secret.startsWith("sk-ant-oat"))
    return { kind: "headers", headers: { authorization: `Bearer ${secret}`, ...subscriptionTokenHeader } };
  return { kind: "headers", headers: { "x-api-key": secret } };
}
