import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { createSandbox } from "../../../src/sandbox/create-sandbox.ts";
import { destroySandbox } from "../../../src/sandbox/destroy-sandbox.ts";
import { openSandbox } from "../../../src/sandbox/open-sandbox.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { runTaskInSandbox } from "../../../src/sandbox/task/run-task.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { sandboxesAt, up } from "../../fakes/sandbox/project-sandboxes.ts";
import { testLabel } from "../../fakes/test-label.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();

const kinds = [
  ["runc", "auto"],
  ["runsc", "strong"],
] as const;

for (const [runtime, isolation] of kinds) {
  describe.skipIf(!runtimes.includes(runtime))(`a sandbox under ${runtime}`, () => {
    let sandbox: Sandbox;

    beforeAll(async () => {
      const deps = sandboxesAt("/nowhere", { engine, stateFolder: inject("stateFolder") });
      sandbox = await createSandbox(
        { ...deps, newId: () => `t${Date.now().toString(36)}` },
        { isolation, labels: { [testLabel]: "library" }, env: { GIVEN: "value" } },
      );
    });

    afterAll(async () => {
      await sandbox.destroy();
      await sandbox.destroy();
    });

    test("has the runtime that was measured to isolate as demanded", () => {
      expect(sandbox.runtime).toBe(runtime);
      expect(sandbox.isolation).toBe(runtime === "runsc" ? "strong" : "shared-kernel");
    });

    test("runs programs; an exit code is a result, and arguments stay arguments", async () => {
      expect(await sandbox.exec(["echo", "$(id)", "; rm -rf /", "-n"])).toMatchObject({
        ...{ exitCode: 0, stdout: "$(id) ; rm -rf / -n\n", isCut: false },
      });
      expect(await sandbox.sh('echo "$GIVEN"; echo oops >&2; exit 9')).toMatchObject({
        ...{ exitCode: 9, stdout: "value\n", stderr: "oops\n" },
      });
      expect((await sandbox.exec(["cat"], { input: "typed" })).stdout).toBe("typed");
      expect((await sandbox.exec(["pwd"])).stdout).toBe("/workspace\n");
      await expect(sandbox.exec(["no-such-program"])).rejects.toMatchObject({ code: "PROGRAM_NOT_FOUND" });
      await expect(sandbox.exec(["/etc/hostname"])).rejects.toMatchObject({ code: "PROGRAM_NOT_EXECUTABLE" });
      await expect(async () => sandbox.exec([])).rejects.toMatchObject({ code: "EXEC_FAILED" });
      expect((await sandbox.sh("exit 127")).exitCode).toBe(127);
    });

    test("keeps the head and the tail of long output and tells its length", async () => {
      const result = await sandbox.sh("echo begin; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end", {
        outputLimit: 1_000,
      });

      expect(result).toMatchObject({ isCut: true, stdoutLength: 1_000_011 });
      expect(result.stdout).toMatch(/^begin\nx+\n… 999011 characters left out …\nx+\nend\n$/);
    });

    test.for([
      ["a plain program", "sleep 4711"],
      ["children in the background", "sleep 4711 & sleep 4711 & wait"],
      ["a session of its own", "setsid sleep 4711 & sleep 4711"],
      ["a program with an empty environment", "env -i sleep 4711"],
      ["a double fork whose parent has gone", "(setsid sh -c 'sleep 4711 & ' &) ; sleep 4711"],
      ["one that ignores signals", "trap '' TERM INT HUP; sleep 4711; sleep 4711"],
    ])("at its time limit %s ends in the container, not only here", async ([_what, script]) => {
      await expect(sandbox.sh(script as string, { timeoutMs: 300 })).rejects.toMatchObject({
        code: "COMMAND_TIMEOUT",
      });

      const left = await sandbox.sh(
        "pgrep -f 'sleep 471[1]' || echo none; ls -A /tmp 2>/dev/null | grep '^.aimi' | wc -l",
      );
      // Only the note of the program that asks.
      expect(left.stdout).toMatch(runtime === "runsc" ? /^none\n/ : /^none\n1\n$/);
    });

    test("an abort ends the program too, and its reason comes out", async () => {
      const stopping = new AbortController();
      const started = Promise.withResolvers<void>();
      const running = sandbox.sh("echo begun; sleep 4712", {
        signal: stopping.signal,
        onOutput: () => started.resolve(),
      });
      await started.promise;

      stopping.abort(new Error("changed my mind"));

      await expect(running).rejects.toThrow("changed my mind");
      expect((await sandbox.sh("pgrep -f 'sleep 471[2]' || echo none")).stdout).toBe("none\n");
    });

    test("files go in and out unchanged, whatever their names and bytes", async () => {
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
      const names = ["plain.txt", "with space", "ünïcode", "new\nline", "-dash", "$(id)", "'quote\"", "*"];

      for (const name of names) {
        await sandbox.writeFile(`names/${name}`, bytes);
        expect(Buffer.from(await sandbox.readFile(`/names/${name}`)).equals(bytes), name).toBe(true);
      }
      await sandbox.writeFile("names/empty", "");

      expect((await sandbox.readFile("names/empty")).length).toBe(0);
      expect((await sandbox.list("names")).map(({ name, size }) => [name, size])).toEqual(
        [...names.map((name) => [name, bytes.length]), ["empty", 0]].sort((a, b) =>
          (a[0] ?? "") < (b[0] ?? "") ? -1 : 1,
        ),
      );
    });

    test("paths stay in the working folder unless they are absolute on purpose", async () => {
      await sandbox.writeFile("/top.txt", "in the working folder");

      expect((await sandbox.exec(["cat", "/workspace/top.txt"])).stdout).toBe("in the working folder");
      expect(Buffer.from(await sandbox.readFile("/etc/hostname", { absolute: true })).length).toBeGreaterThan(
        0,
      );
      await expect(sandbox.readFile("/etc/hostname")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
      for (const path of ["../etc/passwd", "a/../../etc/passwd", "a\0b"])
        await expect(async () => sandbox.readFile(path)).rejects.toMatchObject({ code: "PATH_REFUSED" });
      await expect(sandbox.readFile(".")).rejects.toMatchObject({ code: "PATH_REFUSED" });
      await expect(sandbox.list("top.txt")).rejects.toMatchObject({ code: "PATH_REFUSED" });
      await expect(sandbox.writeFile("/etc/x", "x", { absolute: true })).rejects.toMatchObject({
        code: "PATH_REFUSED",
      });
      await expect(sandbox.readFile("/big", { maxBytes: 10, absolute: true })).rejects.toMatchObject({
        code: "FILE_NOT_FOUND",
      });
      await expect(sandbox.readFile("names/plain.txt", { maxBytes: 10 })).rejects.toMatchObject({
        code: "PATH_REFUSED",
      });
    });

    test("folders are copied both ways; a hostile one is refused and leaves nothing", async ({ folder }) => {
      write(folder, "tree/a.txt", "a");
      write(folder, "tree/deep/b.txt", "b");
      await sandbox.copyIn(join(folder, "tree"), "in");
      expect((await sandbox.exec(["cat", "in/tree/deep/b.txt"])).stdout).toBe("b");

      write(folder, "mine.txt", "the user's own");
      await expect(sandbox.copyOut("in/tree/a.txt", join(folder, "mine.txt"))).rejects.toMatchObject({
        code: "FILE_FAILED",
      });
      expect(readFileSync(join(folder, "mine.txt"), "utf8")).toBe("the user's own");
      const copied = await sandbox.copyOut("in/tree", join(folder, "back"));
      expect(copied.files.toSorted()).toEqual(["a.txt", "deep/b.txt"]);
      expect(readFileSync(join(folder, "back", "deep", "b.txt"), "utf8")).toBe("b");

      await sandbox.sh("mkdir -p bad; echo fine > bad/fine; ln -s /etc/passwd bad/link; mkfifo bad/pipe");
      await expect(sandbox.copyOut("bad", join(folder, "bad"))).rejects.toMatchObject({
        code: "ARCHIVE_REFUSED",
      });
      expect(existsSync(join(folder, "bad"))).toBe(false);
      const taken = await sandbox.copyOut("bad", join(folder, "bad"), { leaveOut: true });
      expect(taken.leftOut).toHaveLength(2);
      expect(readdirSync(join(folder, "bad"))).toEqual(["fine"]);
      mkdirSync(join(folder, "there"));
      await expect(sandbox.copyOut("none", join(folder, "none"))).rejects.toMatchObject({
        code: "FILE_NOT_FOUND",
      });
      expect(readdirSync(folder).sort()).toEqual(["back", "bad", "mine.txt", "there", "tree"]);
    });

    test("is found again by its id, short or long, and other people's containers are not", async () => {
      for (const id of [sandbox.id, sandbox.id.slice(0, 12), sandbox.name]) {
        const again = await openSandbox(engine, id);
        expect(again).toMatchObject({ id: sandbox.id, workdir: "/workspace", runtime });
      }
      const { containers } = await engine.open();
      const foreign = await containers.create(specOf(baseImage, runtime, { labels: { [testLabel]: "x" } }));
      await expect(openSandbox(engine, foreign.id)).rejects.toMatchObject({ code: "SANDBOX_UNKNOWN" });
      await containers.remove(foreign.id);
      await expect(openSandbox(engine, "f".repeat(12))).rejects.toMatchObject({ code: "SANDBOX_UNKNOWN" });
    });

    test("is measured, and kept as an image where the runtime allows it", async () => {
      expect((await sandbox.stats()).memoryBytes).toBeGreaterThan(0);
      const tag = `aimi-test-commit:${runtime}`;
      if (runtime === "runsc") {
        await expect(sandbox.commit(tag)).rejects.toMatchObject({ code: "UNSUPPORTED_BY_ENGINE" });
        return;
      }
      await sandbox.commit(tag);
      const { images } = await engine.open();
      expect((await images.find(tag))?.id).toMatch(/^sha256:/);
      await images.remove(tag);
    });
  });
}

describe("creating a sandbox", () => {
  const deps = sandboxesAt("/nowhere", { engine, stateFolder: inject("stateFolder") });
  const remaining = async (): Promise<unknown> => {
    const { images } = await engine.open();
    return images.list({ [testLabel]: "library" });
  };

  test("from an image that is not there says so, ours by a hint to build it", async () => {
    await expect(createSandbox(deps, { image: "aimi-sandbox:none" })).rejects.toMatchObject({
      code: "IMAGE_NOT_FOUND",
    });
    await expect(createSandbox(deps, { image: "registry.invalid/none:1" })).rejects.toMatchObject({
      code: "IMAGE_PULL_FAILED",
    });
    expect(await remaining()).toEqual([]);
  });

  test("from an image that lacks what a sandbox needs names it, and leaves no container", async () => {
    const { images, containers } = await engine.open();
    const file = { kind: "file", path: "hello", mode: 0o644, uid: 0, gid: 0 } as const;
    const image = "aimi-test-unsuitable:1";
    await images.import(packFiles([{ ...file, content: Buffer.from("x") }]), { tag: image, labels: {} });

    await expect(createSandbox({ ...deps, newId: () => "unsuitable" }, { image })).rejects.toMatchObject({
      code: "IMAGE_UNSUITABLE",
      details: { image, absent: ["sleep"] },
    });

    await images.remove(image);
    expect(await containers.inspect("aimi-unsuitable")).toBeNull();
  });

  test("with an isolation that nothing here has is refused, never stepped down", async () => {
    await expect(
      createSandbox(
        {
          ...deps,
          engine: { ...engine, info: async () => ({ ...(await engine.info()), runtimes: ["runc"] }) },
        },
        { isolation: "strong" },
      ),
    ).rejects.toMatchObject({ code: "ISOLATION_UNAVAILABLE", exitCode: 3 });
  });

  test("limits that this engine cannot give are said, and nothing is made", async () => {
    const { containers } = await engine.open();

    await expect(
      createSandbox({ ...deps, newId: () => "greedy" }, { limits: { cpus: 1_000 } }),
    ).rejects.toMatchObject({ code: "UNSUPPORTED_BY_ENGINE", exitCode: 3 });
    await expect(
      createSandbox({ ...deps, newId: () => "greedy" }, { limits: { memoryBytes: 1_000 } }),
    ).rejects.toMatchObject({ code: "UNSUPPORTED_BY_ENGINE" });

    expect(await containers.inspect("aimi-greedy")).toBeNull();
  });

  test("a working folder that the image lacks belongs to the sandbox's user", async () => {
    await using sandbox = await createSandbox(
      { ...deps, newId: () => "workdir" },
      { workdir: "/made/for/this" },
    );

    await sandbox.writeFile("a.txt", "x");

    expect((await sandbox.sh("pwd; cat a.txt")).stdout).toBe("/made/for/this\nx");
  });

  test("no program in it can stop the clock that ends it", async () => {
    await using sandbox = await createSandbox({ ...deps, newId: () => "clock" }, { ttlMs: 600_000 });

    const { stdout, stderr } = await sandbox.sh(
      "for p in 1 $(pgrep -x sleep); do kill -STOP $p || echo refused; done; id -u",
    );

    expect(stdout).toBe("refused\nrefused\n1000\n");
    expect(stderr).toMatch(/not permitted/);
  });

  test("hostile names, variables and folders are refused before anything is made", async () => {
    for (const options of [
      { prefix: "/etc/" },
      { prefix: "--rm " },
      { env: { "A=B": "x" } },
      { env: { "A\nB": "x" } },
      { env: { A: "\0" } },
      { workdir: "relative" },
    ])
      await expect(createSandbox(deps, options), JSON.stringify(options)).rejects.toMatchObject({
        code: "SPEC_REFUSED",
      });
  });
});

test("a sandbox belongs to its task until the end of the task is written down", async ({ folder }) => {
  const deps = sandboxesAt(folder, { engine, stateFolder: inject("stateFolder") });
  const record = await up(deps);
  const holders: unknown[] = [];
  const watched = {
    ...deps.folders,
    async writeSummary(summary: Parameters<typeof deps.folders.writeSummary>[0]) {
      holders.push(await deps.folders.lockOf(record.id).holder());
      await deps.folders.writeSummary(summary);
    },
  };

  const content = Buffer.from("echo done");
  await runTaskInSandbox(
    { ...deps, folders: watched },
    { record, file: "task.sh", content, onOutput: () => {} },
  );
  await destroySandbox(deps, record, { purge: true });

  expect(holders).toEqual([expect.objectContaining({ pid: process.pid })]);
});
