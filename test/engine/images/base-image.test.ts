import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, inject, vi } from "vitest";
import { type ContainerEngine, labels } from "../../../src/engine/engine.ts";
import { parseProbe } from "../../../src/engine/parse-probe.ts";
import {
  baseImage,
  debianRelease,
  nodeVersion,
  npmVersion,
  rootFilesystemImage,
} from "../../../src/engine/rules/base-image.ts";
import { type EnsureImageDeps, ensureBaseImage } from "../../../src/images/ensure-base-image.ts";
import { imageSources } from "../../../src/images/image-sources.ts";
import type { ImageSources } from "../../../src/images/image-sources-port.ts";
import { findProgram } from "../../../src/machine/engine-packages.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { adapterFile, dockerAt, openEngine, outputOf } from "../../fakes/engine/engine-at.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);
const docker = dockerAt(endpoint);
const imagesFolder = fileURLToPath(new URL("../../../images", import.meta.url));
const sourcesFile = fileURLToPath(new URL("../../../src/images/image-sources.ts", import.meta.url));
const silently = { onStep: () => {}, onEvent: () => {} };
const plainly = { agents: [], fresh: false };

/** What this machine gives to images, with downloads of its own. */
function sourcesIn(folder: string, env: Readonly<Record<string, string>> = {}): ImageSources {
  return imageSources({
    ...{ imagesFolder, adapterFile, cacheFolder: join(folder, "downloads") },
    env: { ...process.env, ...env },
  });
}

function depsIn(folder: string, changes: Partial<EnsureImageDeps> = {}): EnsureImageDeps {
  return {
    engine,
    sources: sourcesIn(folder),
    lock: kernelLock(join(folder, "image.lock"), "a test"),
    ...changes,
  };
}

const anotherAdapter = {
  readAdapter: async () => Buffer.from("another one, so that the base is not up to date"),
};

describe("the base image that is there", () => {
  test("is found without asking npm or debootstrap, without the lock, and without a build", async ({
    folder,
  }) => {
    const refuse = (): never => {
      throw new Error("nothing is to be fetched or made");
    };
    const sources = { ...sourcesIn(folder), download: refuse, makeRootFilesystem: refuse };
    const lock = { acquire: refuse, holder: async () => null };
    const { images } = await engine.open();
    const before = await images.find(baseImage);

    const steps: string[] = [];
    const found = await ensureBaseImage({ engine, sources, lock }, plainly, {
      onStep: (step) => void steps.push(step),
      onEvent: () => {},
    });

    expect(found).toEqual({
      ...{ id: before?.id, tag: baseImage, built: false },
      checksum: before?.labels[labels.checksum],
    });
    expect(before?.tags).toContain(`${baseImage}-${found.checksum}`);
    expect(steps).toEqual([]);
  });

  test("stays what it is when the next one cannot be made: npm's registry is silent", async ({ folder }) => {
    const registry = "http://127.0.0.1:9/";
    const env = { npm_config_registry: registry, npm_config_fetch_retries: "0", HOME: folder };
    const { images } = await engine.open();
    const before = await images.find(baseImage);

    const failing = ensureBaseImage(
      depsIn(folder, { sources: { ...sourcesIn(folder, env), ...anotherAdapter } }),
      ...[plainly, silently],
    );

    await expect(failing).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      details: {
        what: expect.stringMatching(/^(?:node-linux-|npm@)/),
        reason: expect.stringContaining("ECONNREFUSED"),
      },
    });
    expect(await images.find(baseImage)).toEqual(before);
    expect(readdirSync(join(folder, "downloads"))).toEqual([]);
  });

  test("stays what it is when there is no npm at all", async ({ folder }) => {
    const sources = { ...sourcesIn(folder, { PATH: folder }), ...anotherAdapter };

    await expect(ensureBaseImage(depsIn(folder, { sources }), plainly, silently)).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("npm is not installed"),
    });
    expect(readdirSync(join(folder, "downloads"))).toEqual([]);
  });
});

describe("without a root filesystem and without an image registry", () => {
  const isRoot = process.getuid?.() === 0;

  test("a debootstrap that fails is told in its own words, and nothing is made", async ({ folder, skip }) => {
    skip(!isRoot, "debootstrap is only started as root");
    const script =
      "#!/bin/sh\necho 'I: Retrieving Packages'\necho 'E: Failed getting release file'\nexit 1\n";
    chmodSync(write(folder, "programs/debootstrap", script), 0o755);
    const env = { PATH: `${join(folder, "programs")}${delimiter}${process.env["PATH"]}`, TMPDIR: folder };
    vi.stubEnv("TMPDIR", folder);
    const memory = fakeEngine();
    const steps: string[] = [];

    await expect(
      ensureBaseImage(depsIn(folder, { engine: memory, sources: sourcesIn(folder, env) }), plainly, {
        onStep: (step) => void steps.push(step),
        onEvent: () => {},
      }),
    ).rejects.toMatchObject({
      code: "ROOT_FILESYSTEM_FAILED",
      message: expect.stringContaining("E: Failed getting release file"),
    });

    vi.unstubAllEnvs();
    expect(steps).toContain(
      "The engine cannot reach an image registry, so swarm builds the base image from Debian packages",
    );
    expect(steps).toContain("debootstrap: Retrieving Packages");
    expect(await (await memory.open()).images.find(rootFilesystemImage)).toBeNull();
    expect(readdirSync(folder).filter((name) => name.startsWith("swarm-root-"))).toEqual([]);
  });

  test("a machine without debootstrap, or a person who is not root, is told what is needed", async ({
    folder,
    skip,
  }) => {
    skip(!isRoot, "hiding a program from a process takes root");
    const debootstrap = await findProgram("debootstrap", process.env);
    const script = `
      import { imageSources } from ${JSON.stringify(sourcesFile)};
      const sources = imageSources({ env: process.env, imagesFolder: "", adapterFile: "", cacheFolder: "" });
      const ask = async () => { for await (const _ of sources.makeRootFilesystem("${debianRelease}", () => {})); };
      const say = (error) => console.log(error.code, error.details.reason);
      await ask().catch(say);
      process.setuid(65534);
      await ask().catch(say);`;
    // In a mount namespace of its own, where nothing can be executed at that path.
    const hide = debootstrap ? 'mount --bind /dev/null "$(readlink -f "$1")" && ' : "";
    const said = execFileSync(
      "unshare",
      [
        "--mount",
        "sh",
        "-c",
        `${hide}exec "$2" --input-type=module --eval "$3"`,
        "sh",
        debootstrap ?? "",
        process.execPath,
        script,
      ],
      { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
    );

    expect(said.trim().split("\n")).toEqual([
      "ROOT_FILESYSTEM_FAILED debootstrap is not installed",
      "ROOT_FILESYSTEM_FAILED debootstrap needs root",
    ]);
    expect(debootstrap === null || existsSync(debootstrap)).toBe(true);
  });

  test("an architecture that Node has no package for is refused before anything is made", async ({
    folder,
  }) => {
    const memory = fakeEngine();
    const strange: ContainerEngine = {
      ...memory,
      info: async () => ({ ...(await memory.info()), architecture: "riscv64" }),
    };
    const sources = {
      ...sourcesIn(folder),
      makeRootFilesystem: (): never => {
        throw new Error("nothing is to be made");
      },
    };

    await expect(
      ensureBaseImage(depsIn(folder, { engine: strange, sources }), plainly, silently),
    ).rejects.toMatchObject({
      code: "UNSUPPORTED_BY_ENGINE",
      message: expect.stringContaining("Node is not available for the architecture riscv64"),
    });
  });
});

describe("in the base image", () => {
  let said: Readonly<Record<string, string>> = {};

  /** One container answers everything; each answer under its name. */
  beforeAll(async () => {
    const questions: Readonly<Record<string, string>> = {
      versions:
        "git --version; python3 --version; node --version; npm --version; rg --version | sed -n 1p; jq --version; curl --version | sed -n 1p; ssh -V 2>&1",
      who: 'id; echo "$HOME"; getent passwd 1000',
      sudo: "command -v sudo doas pkexec || echo none",
      setuid: "find / -xdev -perm -4000 -type f 2>/dev/null | sort",
      capabilities: `python3 -c '
import os
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys")): continue
    for name in names:
        try:
            if "security.capability" in os.listxattr(os.path.join(folder, name), follow_symlinks=False): print(folder, name)
        except OSError: pass
'`,
      writable:
        "for path in /workspace /work /outputs /task /inputs /aimi /opt/aimi /usr/local/bin /etc; do test -w $path && echo $path; done; true",
      secrets:
        "find / -xdev -name '*.gpg~' -o -xdev -name 'id_*' -path '*/.ssh/*' 2>/dev/null; ls -A /root 2>/dev/null; true",
      venv: "python3 -m venv /tmp/venv && /tmp/venv/bin/pip --version",
      adapter: "/opt/aimi/adapter probe",
      certificates: 'test -s "$NODE_EXTRA_CA_CERTS" && test -s "$SSL_CERT_FILE" && echo both',
    };
    const script = Object.entries(questions)
      .map(([name, question]) => `echo "=== ${name}"\n${question}`)
      .join("\n");
    const container = await docker.createContainer({
      Image: baseImage,
      Cmd: ["bash", "-c", script],
      User: "1000:1000",
      Labels: { [testLabel]: "base" },
      HostConfig: { NetworkMode: "none", Init: true },
    });
    try {
      await container.start();
      const { text } = await outputOf(container);
      said = Object.fromEntries(
        text
          .split("=== ")
          .slice(1)
          .map((part) => [part.split("\n", 1)[0] ?? "", part.slice(part.indexOf("\n") + 1).trim()]),
      );
    } finally {
      await container.remove({ force: true });
    }
  });

  test("are the tools that agents expect, and Node and npm are the ones that were pinned", () => {
    expect(said["versions"]?.split("\n")).toEqual([
      expect.stringMatching(/^git version 2\./),
      expect.stringMatching(/^Python 3\./),
      `v${nodeVersion}`,
      npmVersion,
      expect.stringMatching(/^ripgrep /),
      expect.stringMatching(/^jq-1\./),
      expect.stringMatching(/^curl \d/),
      expect.stringMatching(/^OpenSSH_/),
    ]);
    expect(said["venv"]).toMatch(/^pip \d/);
    expect(said["certificates"]).toBe("both");
  });

  test("the user is agent, 1000, in no other group, and may write where work is done and nowhere else", () => {
    expect(said["who"]?.split("\n")).toEqual([
      "uid=1000(agent) gid=1000(agent) groups=1000(agent)",
      "/home/agent",
      "agent:x:1000:1000::/home/agent:/bin/bash",
    ]);
    expect(said["writable"]?.split("\n")).toEqual(["/workspace", "/work", "/outputs", "/task"]);
  });

  test("there is no sudo, no setuid program beyond the distribution's own, and no file with capabilities", () => {
    const distribution = [
      "chfn",
      "chsh",
      "gpasswd",
      "mount",
      "newgrp",
      "passwd",
      "su",
      "umount",
      "ssh-keysign",
    ];

    expect(said["sudo"]).toBe("none");
    const names = (said["setuid"] ?? "").split("\n").map((path) => path.split("/").at(-1));
    expect(names.filter((name) => !distribution.includes(name ?? ""))).toEqual([]);
    expect(names).toContain("su");
    expect(said["capabilities"]).toBe("");
  });

  test("nothing is left of a home or a key of this machine", () => {
    expect(said["secrets"]).toBe("");
  });

  test("the adapter answers", async () => {
    const probe = await parseProbe(said["adapter"] ?? "");

    expect(probe).toMatchObject({ userId: 1000 });
  });
});
