import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { pack } from "tar-stream";
import { SwarmError } from "../../../errors/errors.ts";

/**
 * A file of the probe image, in which swarm tests a container runtime: this machine's Node, a library that
 * Node loads, or the adapter.
 */
interface ProbeFile {
  readonly from: string;
  readonly to: string;
}

const repository = "aimi-sandbox";

/**
 * Creates the probe image from Node, its libraries and the adapter on this machine, so that no registry is
 * needed. Reuses an existing image whose tag has the same checksum of Node's version and the adapter.
 */
export async function ensureProbeImage(
  docker: Docker,
  adapter: string,
  signal?: AbortSignal,
): Promise<string> {
  const tag = `probe-${await fingerprint(adapter)}`;
  const image = `${repository}:${tag}`;
  const present = await docker
    .getImage(image)
    .inspect()
    .then(
      () => true,
      () => false,
    );
  if (!present) await importImage(docker, tag, await probeFiles(adapter), signal);
  return image;
}

async function fingerprint(adapter: string): Promise<string> {
  return createHash("sha256")
    .update(process.version)
    .update(process.arch)
    .update(await readFile(adapter))
    .digest("hex")
    .slice(0, 12);
}

async function probeFiles(adapter: string): Promise<ProbeFile[]> {
  const node = await realpath(process.execPath);
  return [
    { from: node, to: "opt/aimi/node" },
    { from: adapter, to: "opt/aimi/adapter.mjs" },
    ...(await librariesOf(node)),
  ];
}

/** Finds the shared libraries that the dynamic loader would load for the given program. */
async function librariesOf(program: string): Promise<ProbeFile[]> {
  // Load `execa` here because it is slow to load, and most runs find the image and do not need it.
  const { execa } = await import("execa");
  const { stdout, failed } = await execa("ldd", [program], { reject: false });
  if (process.platform !== "linux" || failed) {
    throw new SwarmError("ENGINE_FAILED", {
      operation: "check how strongly each runtime isolates containers",
      reason: "swarm can build the image for this check only on Linux with glibc",
    });
  }
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => ({ from: path, to: path.slice(1) }));
}

async function importImage(
  docker: Docker,
  tag: string,
  files: readonly ProbeFile[],
  signal?: AbortSignal,
): Promise<void> {
  const archive = pack();
  const options = {
    abortSignal: signal,
    fromSrc: "-",
    repo: repository,
    tag,
    changes: ['LABEL "org.aimi.sandbox"="true" "org.aimi.role"="probe-image"'],
  };
  const imported = docker.importImage(archive as unknown as NodeJS.ReadableStream, options);
  // If the request or its body fails, end the other, because it would wait forever.
  const giveUp = (error: unknown): never => {
    archive.destroy(error as Error);
    throw error;
  };
  const aborted = (): void => void archive.destroy(signal?.reason);
  signal?.addEventListener("abort", aborted, { once: true });
  const [stream] = await Promise.all([imported.catch(giveUp), fill(archive, files).catch(giveUp)]);
  signal?.removeEventListener("abort", aborted);
  // The engine answers a failed import with a successful HTTP status and an error message in the body.
  let answer = "";
  for await (const chunk of stream) answer += String(chunk);
  const problem = /"error":\s*"([^"]*)"/.exec(answer)?.[1];
  if (problem)
    throw new SwarmError("ENGINE_FAILED", {
      operation: "import the image that swarm uses to check the isolation",
      reason: problem,
    });
}

async function fill(archive: ReturnType<typeof pack>, files: readonly ProbeFile[]): Promise<void> {
  archive.entry({ name: "tmp/", type: "directory", mode: 0o1777 });
  for (const { from, to } of files) {
    const { size } = await stat(from);
    await pipeline(createReadStream(from), archive.entry({ name: to, size, mode: 0o755 }));
  }
  archive.finalize();
}
