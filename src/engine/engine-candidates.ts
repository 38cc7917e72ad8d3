import { hash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readJsonObject } from "../machine/read-json-object.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { EngineCandidate } from "./engine.ts";

export interface EngineCandidatesDeps {
  readonly env: EnvironmentVariables;
  readonly home: string;
  /**
   * The engine's endpoint that `--engine` or the settings name, or null. If they name one, swarm tries no
   * other endpoint.
   */
  readonly chosen: string | null;
  /** The endpoint of the user's private Docker engine, which swarm can start. */
  readonly privateEndpoint: string;
}

/**
 * Lists the endpoints at which a container engine might answer, in the order to try them. If `--engine`, the
 * settings or DOCKER_HOST name an endpoint, the list has only that endpoint.
 */
export async function engineCandidates({
  env,
  home,
  chosen,
  privateEndpoint,
}: EngineCandidatesDeps): Promise<EngineCandidate[]> {
  if (chosen) return [{ origin: "--engine or settings", endpoint: chosen }];
  if (env["DOCKER_HOST"])
    return [{ origin: "DOCKER_HOST", endpoint: withCertificates(env["DOCKER_HOST"], env, home) }];
  const context = await currentContext(env, home);
  const runFolder = env["XDG_RUNTIME_DIR"] || `/run/user/${process.getuid?.() ?? 0}`;
  const at = (origin: string, path: string): EngineCandidate => ({ origin, endpoint: `unix://${path}` });
  const candidates = [
    ...(context ? [context] : []),
    at("the system's Docker", "/var/run/docker.sock"),
    { origin: "swarm's private engine", endpoint: privateEndpoint },
    at("rootless Docker", join(runFolder, "docker.sock")),
    at("Docker Desktop", join(home, ".docker/run/docker.sock")),
    at("Docker Desktop on Linux", join(home, ".docker/desktop/docker.sock")),
    at("OrbStack", join(home, ".orbstack/run/docker.sock")),
    at("Colima", join(home, ".colima/default/docker.sock")),
    at("Rancher Desktop", join(home, ".rd/docker.sock")),
    at("Podman", join(runFolder, "podman/podman.sock")),
    at("the system's Podman", "/run/podman/podman.sock"),
  ];
  return candidates.filter(
    ({ endpoint }, index) => candidates.findIndex((other) => other.endpoint === endpoint) === index,
  );
}

/**
 * Reads the endpoint of the Docker CLI's current context from the CLI's files; returns null for the default
 * context.
 */
async function currentContext(env: EnvironmentVariables, home: string): Promise<EngineCandidate | null> {
  const folder = env["DOCKER_CONFIG"] || join(home, ".docker");
  // Ignore broken files: the files of the Docker CLI are only hints.
  const config = await readJsonObject(join(folder, "config.json"));
  const name = env["DOCKER_CONTEXT"] || config["currentContext"];
  if (typeof name !== "string" || name === "default") return null;
  const key = hash("sha256", name);
  const meta = await readJsonObject(join(folder, "contexts/meta", key, "meta.json"));
  const endpoint = (meta["Endpoints"] as { docker?: { Host?: unknown } } | undefined)?.docker?.Host;
  const origin = `Docker context ${name}`;
  if (typeof endpoint !== "string")
    return { origin, endpoint: `unix://${join(folder, "contexts/meta", key)}` };
  const certificates = join(folder, "contexts/tls", key, "docker");
  const isCertified =
    endpoint.startsWith("tcp://") && (await readdir(certificates).catch(() => [])).length > 0;
  return { origin, endpoint: isCertified ? certified(endpoint, certificates) : endpoint };
}

/**
 * Adds the path of the folder with TLS certificates to a TCP endpoint if DOCKER_TLS_VERIFY is set, as the
 * Docker CLI does. Otherwise, swarm would connect without the verification that the user requests.
 */
function withCertificates(host: string, env: EnvironmentVariables, home: string): string {
  if (!host.startsWith("tcp://") || !env["DOCKER_TLS_VERIFY"]) return host;
  return certified(host, env["DOCKER_CERT_PATH"] || join(home, ".docker"));
}

function certified(host: string, folder: string): string {
  return `${host}?certificates=${encodeURIComponent(folder)}`;
}
