import type { Mirror, ModelEndpoint } from "../contract/gateway.ts";
import { defaultRegistryUrls } from "../egress/allow-list.ts";
import { planMirrors } from "../egress/plan-mirrors.ts";
import { messageOf } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import { writeRenewedLogin } from "../secrets/claude-login.ts";
import { readSecret } from "../secrets/read-secret.ts";
import { createSecretProgramRunner } from "../secrets/secret-program.ts";
import type { Settings } from "../settings/rules/settings.ts";
import type { GatewaySecrets } from "./gateway-deps.ts";
import { resolveEndpointHeaders, resolveModelEndpoint } from "./resolve-endpoint.ts";

/**
 * Creates the reader of the gateway's secrets, such as API keys. The reader resolves each reference to a
 * secret only once, and stores the secrets in memory only.
 */
export function createGatewaySecrets(
  { host: { env, folders } }: Pick<Project, "host">,
  { registries }: Pick<Settings, "registries">,
  onWarning: (warning: string) => void,
): GatewaySecrets {
  const { home } = folders;
  const run = createSecretProgramRunner();
  const known = new Map<string, Promise<string>>();
  const read = (reference: string): Promise<string> => {
    const secret = known.get(reference) ?? readSecret(reference, { env, home, run, onWarning });
    known.set(reference, secret);
    // Forgets a failed read, so that the next call reads again: the user may have fixed the cause.
    secret.catch(() => known.delete(reference));
    return secret;
  };
  return {
    async resolve(plans) {
      const resolved: ModelEndpoint[] = [];
      // Resolves one endpoint after another, because the program that provides a secret may ask the user.
      for (const plan of plans) resolved.push(await resolveModelEndpoint(plan, read));
      return resolved;
    },
    async mirrors() {
      const mirrors: Mirror[] = [];
      // Gives the gateway all mirrors. Which of them a worker may read is decided when the gateway admits the
      // worker.
      for (const { name, url, headers } of planMirrors(Object.keys(defaultRegistryUrls), registries))
        mirrors.push({ name, url, headers: await resolveEndpointHeaders(headers, read) });
      return mirrors;
    },
    storeLogin(reference, login) {
      writeRenewedLogin(reference, login, { home }).catch((error: unknown) => {
        onWarning(`The renewed login could not be written to its credential file: ${messageOf(error)}`);
      });
    },
  };
}
