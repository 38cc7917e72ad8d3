import { hash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { Readable } from "node:stream";
import type Docker from "dockerode";
import { type EntryToPack, packFiles } from "../../../archive/pack-files.ts";
import { engineFailed } from "../../engine-failed.ts";
import { requireSuccess } from "../build/require-success.ts";

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
    .catch(() => null);
  if (!present) await importImage(docker, tag, await probeFiles(adapter), signal);
  return image;
}

async function fingerprint(adapter: string): Promise<string> {
  const runtime = Buffer.from(process.version + process.arch);
  return hash("sha256", Buffer.concat([runtime, await readFile(adapter)])).slice(0, 12);
}

/**
 * Returns the files of the probe image, in which swarm tests a container runtime: this machine's Node, the
 * libraries that Node loads, and the adapter.
 */
async function probeFiles(adapter: string): Promise<EntryToPack[]> {
  const owner = { uid: 0, gid: 0 };
  const file = async (path: string, source: string): Promise<EntryToPack> => ({
    ...owner,
    kind: "file",
    path,
    mode: 0o755,
    from: await realpath(source),
  });
  const libraries = await librariesOf(process.execPath);
  return [
    { ...owner, kind: "folder", path: "tmp", mode: 0o1777 },
    await file("opt/aimi/node", process.execPath),
    await file("opt/aimi/adapter.mjs", adapter),
    ...(await Promise.all(libraries.map((path) => file(path.slice(1), path)))),
  ];
}

/** Finds the shared libraries that the dynamic loader would load for the given program. */
async function librariesOf(program: string): Promise<string[]> {
  // Load `execa` here because it is slow to load, and most runs find the image and do not need it.
  const { execa } = await import("execa");
  const { stdout, failed } = await execa("ldd", [program], { reject: false });
  if (process.platform !== "linux" || failed) {
    throw engineFailed(
      "check how strongly each runtime isolates containers",
      "swarm can build the image for this check only on Linux with glibc",
    );
  }
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
}

async function importImage(
  docker: Docker,
  tag: string,
  files: readonly EntryToPack[],
  signal?: AbortSignal,
): Promise<void> {
  const archive = Readable.from(packFiles(files), { objectMode: false });
  const options = {
    abortSignal: signal,
    fromSrc: "-",
    repo: repository,
    tag,
    changes: ['LABEL "org.aimi.sandbox"="true" "org.aimi.role"="probe-image"'],
  };
  try {
    const answer = await docker.importImage(archive, options);
    await requireSuccess(answer, "import the image that swarm uses to check the isolation");
  } catch (error) {
    // If reading a file fails, the request ends too. Report the file's error, which is the cause.
    throw archive.errored ?? error;
  } finally {
    archive.destroy();
  }
}
