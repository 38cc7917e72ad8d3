import { spawn } from "node:child_process";
import { mkdir, readFile, rename, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { SwarmError } from "../errors/errors.ts";
import { findProgram } from "../machine/engine-packages.ts";
import { createProcessFolder } from "../machine/process-folder.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { ImageSources } from "./image-sources-port.ts";

export interface ImageSourcesDeps {
  readonly env: EnvironmentVariables;
  readonly imagesFolder: string;
  readonly adapterFile: string;
  /** The folder in which swarm caches downloads. */
  readonly cacheFolder: string;
}

/**
 * Gives access to the files from which swarm builds images on this machine: swarm's own files, npm packages
 * and Debian packages.
 */
export function imageSources({
  env,
  imagesFolder,
  adapterFile,
  cacheFolder,
}: ImageSourcesDeps): ImageSources {
  return {
    readImageFile: (name) => readFile(join(imagesFolder, name)),
    readAdapter: () => readFile(adapterFile),
    readGateway: () => readFile(join(dirname(adapterFile), "gateway.mjs")),

    async readCertificates() {
      const named = env["NODE_EXTRA_CA_CERTS"] || env["SSL_CERT_FILE"];
      if (!named) return [];
      const text = await readFile(named, "utf8").catch(() => "");
      return text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
    },

    async download(name, version, signal) {
      const file = join(cacheFolder, `${name}-${version}.tgz`);
      if (await stat(file).catch(() => null)) return file;
      await mkdir(cacheFolder, { recursive: true });
      // Download into a folder of this process's own, and then rename the file, so that the cache has only
      // complete files. npm verifies the registry's checksum.
      await using own = await createProcessFolder(cacheFolder, "download-");
      const { folder } = own;
      const { execa } = await import("execa");
      const { failed, stderr, stdout, code } = await execa(
        "npm",
        ["pack", `${name}@${version}`, "--loglevel=error", "--pack-destination", folder],
        {
          cwd: folder,
          env,
          extendEnv: false,
          reject: false,
          stdin: "ignore",
          ...(signal && { cancelSignal: signal }),
        },
      );
      signal?.throwIfAborted();
      const packed = stdout.trim().split("\n").at(-1) ?? "";
      if (failed || packed === "")
        throw new SwarmError("DOWNLOAD_FAILED", {
          what: `${name}@${version}`,
          reason:
            code === "ENOENT"
              ? "npm is not installed"
              : firstWords(stderr) || "npm did not report why the download failed",
        });
      await rename(join(folder, packed), file);
      return file;
    },

    async *makeRootFilesystem(release, onStep, signal) {
      await refuseWithout(env);
      await using own = await createProcessFolder(tmpdir(), "swarm-root-");
      const { folder } = own;
      await debootstrap(env, release, join(folder, "root"), onStep, signal);
      onStep("Packing the root filesystem");
      const words =
        "--create --one-file-system --numeric-owner --exclude=./var/cache/apt/archives/*.deb --directory";
      const tar = spawn("tar", [...words.split(" "), join(folder, "root"), "."], {
        stdio: ["ignore", "pipe", "ignore"],
        ...(signal && { signal }),
      });
      const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
      tar.once("error", reject).once("close", resolve);
      ended.catch(() => {});
      yield* tar.stdout;
      const code = await ended.catch((error) => {
        signal?.throwIfAborted();
        throw error;
      });
      if (code !== 0) throw rootFailed(`tar exited with ${code}`);
    },
  };
}

/**
 * Returns the first lines of the error output of npm, which name the problem. Omits stack traces and the path
 * of npm's log file.
 */
function firstWords(text: string): string {
  const lines = text
    .split("\n")
    .map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim())
    .filter((line) => line !== "" && !/^at |complete log of this run/.test(line));
  return lines.slice(0, 5).join(" ").slice(0, 300);
}

async function refuseWithout(env: EnvironmentVariables): Promise<void> {
  if (process.platform !== "linux") throw rootFailed("debootstrap needs Linux");
  if (process.getuid?.() !== 0) throw rootFailed("debootstrap needs root");
  if ((await findProgram("debootstrap", env)) === null) throw rootFailed("debootstrap is not installed");
}

function rootFailed(reason: string): SwarmError {
  return new SwarmError("ROOT_FILESYSTEM_FAILED", { reason });
}

async function debootstrap(
  env: EnvironmentVariables,
  release: string,
  folder: string,
  onStep: (step: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  onStep(`Building a root filesystem from Debian packages (debootstrap ${release})`);
  const { execa } = await import("execa");
  const run = execa("debootstrap", ["--variant=minbase", release, folder], {
    reject: false,
    stdin: "ignore",
    env: { ...env, LC_ALL: "C", PATH: `${env["PATH"] ?? ""}:/usr/sbin:/sbin` },
    extendEnv: false,
    ...(signal && { cancelSignal: signal, forceKillAfterDelay: 2_000 }),
  });
  for await (const line of createInterface({ input: run.stdout })) {
    const [, step] =
      /^I: (Retrieving Packages|Unpacking the base system|Configuring the base system|.*installed success.*)/.exec(
        line,
      ) ?? [];
    if (step) onStep(`debootstrap: ${step}`);
  }
  const { failed, stdout, stderr } = await run;
  signal?.throwIfAborted();
  if (failed)
    throw rootFailed(
      `${stdout}\n${stderr}`
        .split("\n")
        .filter((line) => line.startsWith("E:"))
        .join(" ")
        .slice(0, 300) || "debootstrap failed",
    );
}
