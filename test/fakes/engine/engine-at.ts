import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { dockerEngine } from "../../../src/engine/docker/docker-engine.ts";
import { callEngine } from "../../../src/engine/docker/engine-http.ts";
import type { EngineHostFunctions } from "../../../src/engine/docker/open-engine.ts";
import { ensureProbeImage } from "../../../src/engine/docker/probe/probe-image.ts";
import type { ContainerEngine } from "../../../src/engine/engine.ts";
import { privateEngine } from "../../../src/engine/private/private-engine.ts";
import type { PrivateEngine, PrivateEngineStatus } from "../../../src/engine/private-engine.ts";
import { killStartingPrograms } from "../../../src/machine/kill-starting-programs.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { kernelPauseLock } from "../../../src/machine/locks/kernel-pause-lock.ts";

export const adapterFile: string = fileURLToPath(new URL("../../../dist/adapter.mjs", import.meta.url));

export async function answers(endpoint: string): Promise<boolean> {
  return callEngine(endpoint, { path: "/_ping", timeoutMs: 2_000 }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** A private engine below a folder, as the product composes it. */
export function engineAt(
  stateFolder: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): PrivateEngine {
  const folder = join(stateFolder, "engine");
  return privateEngine({ folder, env, answers, lock: kernelLock(join(folder, "engine.lock"), "swarm test") });
}

/** An engine that answers somewhere, as the product opens it. */
export function openEngine(endpoint: string): ContainerEngine {
  return dockerEngine(endpoint, { adapterFile, hostFunctions: () => engineHelp(endpoint) });
}

/** As the product has it below its state folder: one for all processes that use this engine. */
export async function engineHelp(endpoint: string): Promise<EngineHostFunctions> {
  const folder = dirname(endpoint.replace("unix://", ""));
  return { gate: kernelPauseLock(join(folder, "..", "gates")), killStartingPrograms };
}

/** Starts an engine with everything installed before. */
export function startEngine(engine: PrivateEngine): Promise<PrivateEngineStatus> {
  return engine.start({ mayInstall: false, onStep: () => {}, reset: false });
}

export function dockerAt(endpoint: string): Docker {
  return new Docker({ socketPath: endpoint.replace("unix://", "") });
}

/** A running container that carries out some JavaScript; its name is its own. */
export async function runNode(
  docker: Docker,
  script: string,
  host: Docker.HostConfig = {},
  ports: Record<string, object> = {},
): Promise<Docker.Container> {
  const image = await ensureProbeImage(docker, adapterFile);
  const container = await docker.createContainer({
    name: `aimi-test-${randomBytes(6).toString("hex")}`,
    Image: image,
    Cmd: ["/opt/aimi/node", "--eval", script],
    ExposedPorts: ports,
    HostConfig: { Init: true, ...host },
  });
  await container.start();
  return container;
}

/** What a container's script printed, and how it ended. */
export async function outputOf(container: Docker.Container): Promise<{ exit: number; text: string }> {
  const { StatusCode } = await container.wait();
  const logs = (await container.logs({ stdout: true, stderr: true, follow: false })) as unknown as Buffer;
  return { exit: StatusCode, text: logs.toString("latin1").replace(/[\u0000-\u0002]\u0000{3}.{4}/gs, "") };
}

/** The rules of this network namespace without counters and times. */
export function firewall(): string {
  return execFileSync("iptables-save", { encoding: "utf8" })
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .map((line) => line.replace(/\[\d+:\d+\]/, ""))
    .join("\n");
}

export function links(): string[] {
  return [...execFileSync("ip", ["-o", "link"], { encoding: "utf8" }).matchAll(/^\d+: ([^:@]+)/gm)].map(
    ([, name = ""]) => name,
  );
}
