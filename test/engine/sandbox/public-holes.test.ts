import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "tar-stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import {
  type EngineComponent,
  findKnownVulnerabilitiesOfComponent,
} from "../../../src/engine/rules/find-vulnerabilities.ts";
import { waitingProgram } from "../../fakes/cli/call-program.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, openEngine, outputOf } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const engine = openEngine(endpoint);
const mark = { [testLabel]: "holes" };
const runc: EngineComponent = (await engine.listComponents()).find(({ name }) => name === "runc") ?? {
  name: "runc",
  version: "0",
};
const isOpen = (id: string): boolean =>
  findKnownVulnerabilitiesOfComponent(runc).some(({ ids }) => ids.includes(id));

const imported: string[] = [];

/** An image with a program that waits, and whatever else is asked for. */
async function importImage(
  name: string,
  { changes = "", devLink }: { readonly changes?: string; readonly devLink?: string },
): Promise<string> {
  const archive = pack();
  archive.entry({ name: "wait", mode: 0o755 }, waitingProgram());
  archive.entry({ name: "tmp", type: "directory", mode: 0o1777 });
  if (devLink) archive.entry({ name: "dev", type: "symlink", linkname: devLink });
  archive.finalize();
  const options = { fromSrc: "-", repo: name, tag: "test", changes: [`LABEL ${testLabel}=holes`, changes] };
  const said = await docker.importImage(archive as unknown as NodeJS.ReadableStream, options);
  await Array.fromAsync(said);
  imported.push(`${name}:test`);
  return `${name}:test`;
}

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "swarm-"));
});
afterEach(async () => {
  await rm(home, { recursive: true, force: true });
  for (const image of imported.splice(0)) await docker.getImage(image).remove({ force: true });
});

describe.skipIf(arch() !== "x64")(
  "an image that names a descriptor of the host's as its working folder",
  () => {
    const leaked = "/proc/self/fd/8";

    test("attack CVE-2024-21626: our containers begin where we say, whatever the image says", async () => {
      const { containers } = await engine.open();
      const image = await importImage("aimi-test-cwd", { changes: `WORKDIR ${leaked}` });
      const spec = specOf(image, "runc", { labels: mark, command: ["/wait"] });

      const { id } = await containers.create(spec);
      await containers.start(id);
      const { Config, State } = await docker.getContainer(id).inspect();
      await containers.remove(id);

      expect([Config.WorkingDir, State.Running]).toEqual(["/", true]);
    });

    test("control CVE-2024-21626: by itself the engine hands it to runc, which must refuse it", async ({
      annotate,
    }) => {
      const image = await importImage("aimi-test-cwd", { changes: `WORKDIR ${leaked}` });
      const made = await docker.createContainer({
        ...{ Image: image, Cmd: ["/wait"], Labels: mark },
        HostConfig: { NetworkMode: "none" },
      });

      const { Config } = await made.inspect();
      const begun = await made.start().then(
        () => "it began",
        (error: Error) => error.message,
      );
      await made.remove({ force: true });
      await annotate(`runc ${runc.version}: ${begun.trim()}`);

      expect(Config.WorkingDir).toBe(leaked);
      if (!isOpen("CVE-2024-21626")) expect(begun).not.toBe("it began");
    });
  },
);

describe("a volume in the place where the runtime mounts what it makes", () => {
  test.each(["/dev", "/dev/pts", "/proc", "/proc/sys", "/sys", "/sys/fs/cgroup"])(
    "attack CVE-2025-31133, CVE-2025-52565, CVE-2025-52881: none of ours can lie at %s",
    async (path) => {
      const { containers } = await engine.open();
      const spec = specOf(baseImage, "runc", { labels: mark, volumes: [{ name: "aimi-test-holes", path }] });

      await expect(containers.create(spec)).rejects.toMatchObject({ code: "SPEC_REFUSED" });
      expect(await containers.inspect(spec.name)).toBeNull();
    },
  );

  const volume = `aimi-test-holes-${process.pid}`;
  beforeAll(() => docker.createVolume({ Name: volume, Labels: mark }));
  afterAll(() => docker.getVolume(volume).remove({ force: true }));

  test("control CVE-2025-31133, CVE-2025-52565, CVE-2025-52881: with a link for /dev/null in it, what is hidden becomes something else", async ({
    annotate,
  }) => {
    const run = async (path: string, ...Cmd: string[]): Promise<string> => {
      const made = await docker.createContainer({
        ...{ Image: baseImage, Cmd, Labels: mark, User: "0:0" },
        HostConfig: {
          ...{ NetworkMode: "none", CapDrop: ["ALL"] },
          Mounts: [{ Type: "volume", Source: volume, Target: path }],
        },
      });
      const said = await made.start().then(
        async () => (await outputOf(made)).text,
        (error: Error) => `not started: ${error.message}`,
      );
      await made.remove({ force: true });
      return said;
    };
    await run("/mnt", "ln", "-s", "/proc/version", "/mnt/null");

    const hidden = await run("/dev", "cat", "/proc/timer_list");
    await annotate(`runc ${runc.version}: ${hidden.trim().slice(0, 200)}`);

    if (isOpen("CVE-2025-31133")) expect(hidden).toContain("Linux version");
    else expect(hidden).not.toContain("Linux version");
  });
});

describe.skipIf(arch() !== "x64")("an image whose /dev is a link to a folder of the host", () => {
  test("attack CVE-2026-41579: a container of it leaves nothing there", async () => {
    const { containers } = await engine.open();
    const target = join(home, "target");
    await mkdir(target);
    const image = await importImage("aimi-test-dev", { devLink: target });
    const { id } = await containers.create(specOf(image, "runc", { labels: mark, command: ["/wait"] }));
    await containers.start(id);
    const facts = await containers.inspect(id);
    await containers.remove(id);

    expect(facts?.state).toBe("running");
    expect(await readdir(target)).toEqual([]);
  });

  test("control CVE-2026-41579: runc alone writes there, while it has not learned better", async ({
    annotate,
  }) => {
    const [target, bundle, name] = [join(home, "target"), join(home, "bundle"), `swarm-holes-${process.pid}`];
    for (const each of [target, join(bundle, "rootfs")]) await mkdir(each, { recursive: true });
    await writeFile(join(bundle, "rootfs", "wait"), waitingProgram(), { mode: 0o755 });
    await symlink(target, join(bundle, "rootfs", "dev"));
    // Until it is made, there is no state to tell.
    const isRunning = (): boolean => {
      const { status, stdout } = spawnSync("runc", ["state", name], { encoding: "utf8" });
      return status === 0 && JSON.parse(stdout).status === "running";
    };
    execFileSync("runc", ["spec"], { cwd: bundle });
    const config = JSON.parse(await readFile(join(bundle, "config.json"), "utf8"));
    Object.assign(config.process, { terminal: false, args: ["/wait"] });
    await writeFile(join(bundle, "config.json"), JSON.stringify(config));

    const running = spawn("runc", ["run", name], { cwd: bundle, stdio: "ignore" });
    const ended = once(running, "exit");
    await eventually(
      "it runs, or is refused",
      async () => (isRunning() || running.exitCode !== null ? true : null),
      60_000,
    );
    if (running.exitCode === null) execFileSync("runc", ["delete", "--force", name]);
    await ended;
    const written = await readdir(target);
    await annotate(`runc ${runc.version} wrote ${written.join(", ") || "nothing"}`);

    if (isOpen("CVE-2026-41579")) expect(written).toContain("ptmx");
    else expect(written).toEqual([]);
  });
});
