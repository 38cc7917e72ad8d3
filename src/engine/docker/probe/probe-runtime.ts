import { hash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type Docker from "dockerode";
import { labels } from "../../engine.ts";
import { engineFailed } from "../../engine-failed.ts";
import { parseProbe } from "../../parse-probe.ts";
import { baseImage } from "../../rules/base-image.ts";
import type { Probe } from "../../rules/isolation.ts";
import { securityOptions } from "../container-options.ts";
import { createDockerodeClient } from "../dockerode-client.ts";
import { chooseSeccompProfile } from "../seccomp/seccomp-profile.ts";
import { translateEngineFailure } from "../translate-failure.ts";
import { ensureProbeImage } from "./probe-image.ts";

const maxAnswerBytes = 256 * 1024;
const maxMs = 60_000;
const removeMs = 15_000;

/**
 * Runs the probe of the bundled adapter, the program that runs inside containers, in a new container that has this runtime and is confined like an agent's
 * container. Returns the probe's findings.
 */
export async function probeRuntime(
  adapterFile: string,
  endpoint: string,
  runtime: string,
  signal?: AbortSignal,
): Promise<Probe> {
  const docker = createDockerodeClient(endpoint);
  const limit = AbortSignal.timeout(maxMs);
  const ending = signal ? AbortSignal.any([signal, limit]) : limit;
  try {
    const image =
      (await findProbingBase(docker, adapterFile)) ??
      (await oneAtATime(endpoint, () => ensureProbeImage(docker, adapterFile, ending)));
    return await parseProbe(await runOnce(docker, image, runtime, ending));
  } catch (error) {
    const operation = `run a container with the runtime ${runtime}`;
    if (limit.aborted && !signal?.aborted)
      throw engineFailed(operation, `the probe took longer than ${maxMs / 1000} s`);
    throw translateEngineFailure(endpoint, { operation, signal }, error);
  }
}

const making = new Map<string, Promise<string>>();

/**
 * Imports the probe image at most once at a time per engine. Runtimes are probed in parallel, and without
 * this limit each probe would import the image.
 */
function oneAtATime(endpoint: string, make: () => Promise<string>): Promise<string> {
  const made = making.get(endpoint) ?? make().finally(() => making.delete(endpoint));
  making.set(endpoint, made);
  return made;
}

/**
 * Returns the ID of swarm's base image if that image contains this installation's adapter; otherwise null.
 * In the base image, the probe can also test the agents' tools.
 */
async function findProbingBase(docker: Docker, adapterFile: string): Promise<string | null> {
  const adapter = hash("sha256", await readFile(adapterFile));
  const base = await docker
    .getImage(baseImage)
    .inspect()
    .catch(() => null);
  return base?.Config.Labels?.[labels.adapter] === adapter ? base.Id : null;
}

async function runOnce(docker: Docker, image: string, runtime: string, signal: AbortSignal): Promise<string> {
  const profile = chooseSeccompProfile(await docker.info(), { runtime });
  const container = await docker.createContainer({
    name: `aimi-probe-${randomBytes(6).toString("hex")}`,
    Image: image,
    Cmd: ["/opt/aimi/node", "/opt/aimi/adapter.mjs", "probe"],
    User: "1000:1000",
    Tty: false,
    abortSignal: signal,
    Labels: { [labels.sandbox]: "true", [labels.role]: "probe" },
    HostConfig: {
      Runtime: runtime,
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: securityOptions(profile),
      // The maximum number of processes. gVisor's own threads count, too.
      PidsLimit: 1024,
      Memory: 512 * 1024 * 1024,
      Tmpfs: { "/tmp": "exec,nosuid,nodev,size=64m,mode=1777" },
    },
  });
  try {
    await container.start({ abortSignal: signal });
    const { StatusCode } = await container.wait({ abortSignal: signal });
    const options = { stdout: true, stderr: true, follow: false, abortSignal: signal } as const;
    const texts = split((await container.logs(options)) as unknown as Buffer);
    if (StatusCode === 0) return texts[1] ?? "";
    throw new Error(texts[2]?.trim().slice(0, 300) || `the isolation check exited with code ${StatusCode}`);
  } finally {
    await container.remove({ force: true, v: true, abortSignal: AbortSignal.timeout(removeMs) });
  }
}

/**
 * Splits Docker's multiplexed log output into stdout (1) and stderr (2). Each frame has a stream type, three zero
 * bytes, a length and the payload.
 */
function split(frames: Buffer): Record<number, string> {
  const texts: Record<number, string> = {};
  for (let at = 0; at + 8 <= frames.length && at < maxAnswerBytes; ) {
    const end = at + 8 + frames.readUInt32BE(at + 4);
    const stream = frames[at] ?? 0;
    texts[stream] = (texts[stream] ?? "") + frames.toString("utf8", at + 8, end);
    at = end;
  }
  return texts;
}
