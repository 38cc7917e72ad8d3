import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { readArchive } from "../../../src/archive/read-archive.ts";
import type {
  ContainerExecution,
  ContainerSpec,
  ExecExit,
  ExecSpec,
} from "../../../src/engine/containers.ts";
import type { ContainerEngine } from "../../../src/engine/engine.ts";
import { isError } from "../../../src/errors/errors.ts";
import { testLabel } from "../test-label.ts";
import { terminalFacts } from "./terminal-facts.ts";

export interface SuiteEngine {
  readonly engine: ContainerEngine;
  /** The same kind of engine where nobody answers. */
  readonly silent: ContainerEngine;
  readonly image: string;
  readonly runtime: string;
  /** What this runtime cannot do, by the words of the tests below. */
  readonly unsupported: readonly string[];
}

const mark: Readonly<Record<string, string>> = { [testLabel]: "suite" };
const limits = { entries: 100, bytes: 1_000_000, nameBytes: 200 };

export function specOf(image: string, runtime: string, changes: Partial<ContainerSpec> = {}): ContainerSpec {
  return {
    name: `aimi-test-${randomBytes(6).toString("hex")}`,
    labels: mark,
    image,
    command: ["sleep", "600"],
    env: {},
    user: "1000:1000",
    workdir: "/",
    runtime,
    network: { kind: "none" },
    limits: {
      ...{ cpus: 1, memoryBytes: 256 * 1024 ** 2, swapBytes: 0, pids: 256, descriptors: 1024 },
      ...{ diskBytes: 1024 ** 3, files: 100_000, logBytes: 1024 ** 2 },
    },
    capabilities: [],
    readOnlyRoot: false,
    privileged: false,
    tmpBytes: 64 * 1024 ** 2,
    volumes: [],
    ...changes,
  };
}

/** What containers must do, in memory and for real, under every runtime. */
export function containersSuite(open: () => Promise<SuiteEngine>): void {
  const prepared = async (changes: Partial<ContainerSpec> = {}) => {
    const opened = await open();
    const { containers } = await opened.engine.open();
    const spec = specOf(opened.image, opened.runtime, changes);
    const { id } = await containers.create(spec);
    return {
      ...{ ...opened, containers, spec, id },
      [Symbol.asyncDispose]: () => containers.remove(id),
    };
  };

  test("a container is created, runs, ends and is gone, and each step shows", async () => {
    await using made = await prepared();
    const { containers, id, spec } = made;
    expect(await containers.inspect(id)).toMatchObject({
      id,
      name: spec.name,
      state: "created",
      exitCode: null,
    });

    await containers.start(id);
    expect(await containers.inspect(id)).toMatchObject({ state: "running", startedAt: expect.any(Date) });
    await containers.start(id);

    await containers.stop(id, { graceMs: 1_000 });
    const ended = await containers.inspect(id);
    expect(ended).toMatchObject({ state: "exited", finishedAt: expect.any(Date) });
    expect(ended?.exitCode).not.toBeNull();
    await containers.stop(id, { graceMs: 1_000 });

    await containers.remove(id);
    expect(await containers.inspect(id)).toBeNull();
    await containers.remove(id);
  });

  test("the same name with the same labels is the same container, with others it is taken", async () => {
    await using made = await prepared();
    const { containers, spec, id } = made;

    expect((await containers.create(spec)).id).toBe(id);
    await expect(containers.create({ ...spec, labels: { ...mark, other: "x" } })).rejects.toMatchObject({
      code: "NAME_TAKEN",
    });
  });

  test("the first twelve characters of an id, and the name, are as good as the whole", async () => {
    await using made = await prepared();
    const { containers, spec, id } = made;

    expect((await containers.inspect(id.slice(0, 12)))?.id).toBe(id);
    expect((await containers.inspect(spec.name))?.id).toBe(id);
  });

  test("a program gives its output, its errors and its code apart", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);
    const run = (...command: string[]) => containers.exec(id, { command, input: false }).then(finish);

    expect(await run("echo", "one", "two words")).toEqual({
      ...{ stdout: "one two words\n", stderr: "" },
      exit: { kind: "exited", code: 0 },
    });
    expect(await run("cat", "/none")).toMatchObject({
      ...{ stdout: "", stderr: expect.stringContaining("No such file") },
      exit: { kind: "exited", code: 1 },
    });
    expect((await run("false")).exit).toEqual({ kind: "exited", code: 1 });
  });

  test("input goes in until it is ended, and the variables are those that were given", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);

    await using execution = await containers.exec(id, { command: ["cat"], input: true });
    await execution.write(Buffer.from("first, "));
    await execution.write(Buffer.from("second"));
    await execution.endInput();
    const echoed = await finish(execution);
    const variable: ExecSpec = { command: ["printenv", "WORD"], env: { WORD: "a=b c" }, input: false };

    expect(echoed).toMatchObject({ stdout: "first, second", exit: { kind: "exited", code: 0 } });
    expect((await finish(await containers.exec(id, variable))).stdout).toBe("a=b c\n");
  });

  terminalFacts(prepared);

  test("what is copied in before the start is read inside, and comes out after the end", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    const file = { kind: "file", path: "note.txt", mode: 0o644, uid: 1000, gid: 1000 } as const;

    await containers.copyIn(id, "/opt", packFiles([{ ...file, content: Buffer.from("from outside") }]));
    await containers.start(id);
    const inside = await finish(
      await containers.exec(id, { command: ["cat", "/opt/note.txt"], input: false }),
    );
    await containers.stop(id, { graceMs: 1_000 });

    expect(inside.stdout).toBe("from outside");
    const out: [string, string][] = [];
    for await (const entry of readArchive(containers.copyOut(id, "/opt/note.txt"), { limits }))
      out.push([entry.path, Buffer.concat(await Array.fromAsync(entry.content)).toString()]);
    expect(out).toEqual([["note.txt", "from outside"]]);
    await expect(Array.fromAsync(containers.copyOut(id, "/opt/none"))).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
    });
  });

  test("a paused container takes no programs, and goes on afterwards", async ({ skip }) => {
    await using made = await prepared();
    const { containers, id, unsupported, runtime } = made;
    skip(unsupported.includes("pause"), `${runtime} does not support pause`);
    await containers.start(id);

    await containers.pause(id);
    expect((await containers.inspect(id))?.state).toBe("paused");
    await expect(containers.exec(id, { command: ["echo"], input: false })).rejects.toMatchObject({
      code: "CONTAINER_NOT_RUNNING",
    });
    await containers.unpause(id);
    await containers.unpause(id);

    expect((await finish(await containers.exec(id, { command: ["echo", "on"], input: false }))).stdout).toBe(
      "on\n",
    );
  });

  test("a container that is paused while programs begin in it goes on afterwards, and they with it", async ({
    skip,
  }) => {
    await using made = await prepared();
    const { containers, id, unsupported, runtime } = made;
    skip(unsupported.includes("pause"), `${runtime} does not support pause`);
    await containers.start(id);

    // At each moment of a beginning: an engine that froze it in its midst would never thaw it again.
    for (let waitMs = 0; waitMs < 100; waitMs += 5) {
      const programs = Array.from({ length: 2 }, async () => {
        const begun = containers.exec(id, { command: ["echo", "on"], input: false });
        // Whoever comes too late is told so.
        const execution = await begun.catch((error: unknown) => {
          if (isError(error, "CONTAINER_NOT_RUNNING")) return null;
          throw error;
        });
        return execution === null ? "on\n" : (await finish(execution)).stdout;
      });
      await setTimeout(waitMs);
      await containers.pause(id);
      await containers.unpause(id);
      expect(await Promise.all(programs)).toEqual(Array(2).fill("on\n"));
    }
  });

  test("a program in a container that ends is lost, and nobody makes up a code for it", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);
    await using execution = await containers.exec(id, { command: ["sleep", "600"], input: false });

    const finished = finish(execution);
    await containers.stop(id, { graceMs: 0 });

    expect((await finished).exit).toMatchObject({ kind: "lost" });
    await expect(containers.exec(id, { command: ["echo"], input: false })).rejects.toMatchObject({
      code: "CONTAINER_NOT_RUNNING",
    });
  });

  test("an abort ends the reading with its own reason", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);
    const stopping = new AbortController();
    await using execution = await containers.exec(
      id,
      { command: ["sleep", "600"], input: false },
      stopping.signal,
    );

    const finished = finish(execution);
    stopping.abort(new Error("enough"));

    await expect(finished).rejects.toThrow("enough");
  });

  test("after an abort nothing is created", async () => {
    const { engine, image, runtime } = await open();
    const { containers } = await engine.open();
    const spec = specOf(image, runtime);

    await expect(containers.create(spec, AbortSignal.abort(new Error("too late")))).rejects.toThrow(
      "too late",
    );

    expect(await containers.inspect(spec.name)).toBeNull();
  });

  test("a name that is also a path, a flag or somebody else's is refused before anything is made", async () => {
    const { engine, image, runtime } = await open();
    const { containers, volumes, networks } = await engine.open();
    const hostile = ["/etc", "../x", "--rm", "aimi-", "other-name", "aimi-x/y", "aimi-x\n", "aimi-X", ""];

    for (const name of hostile) {
      const refusal = { code: "SPEC_REFUSED", exitCode: 2 };
      await expect(containers.create(specOf(image, runtime, { name }))).rejects.toMatchObject(refusal);
      await expect(volumes.create(name, mark)).rejects.toMatchObject(refusal);
      await expect(
        networks.create({ name, labels: mark, internal: true, subnet: null }),
      ).rejects.toMatchObject(refusal);
    }
  });

  test("what does not exist is gone", async () => {
    const { engine } = await open();
    const { containers } = await engine.open();
    const gone = { code: "CONTAINER_GONE" };

    for (const ask of [
      () => containers.start("aimi-none"),
      () => containers.stop("aimi-none", { graceMs: 0 }),
      () => containers.pause("aimi-none"),
      () => containers.exec("aimi-none", { command: ["echo"], input: false }),
      () => containers.openTerminal("aimi-none", { command: ["sh"], columns: 80, rows: 24 }),
      () => containers.stats("aimi-none"),
      () => Array.fromAsync(containers.logs("aimi-none", { follow: false })),
    ])
      await expect(ask()).rejects.toMatchObject(gone);
    expect(await containers.inspect("aimi-none")).toBeNull();
  });

  test("what its main process wrote is in its log", async () => {
    await using made = await prepared({ command: ["echo", "hello log"] });
    const { containers, id } = made;
    await containers.start(id);

    const chunks = await Array.fromAsync(containers.logs(id, { follow: true }));

    expect(Buffer.concat(chunks.map(({ bytes }) => bytes)).toString()).toBe("hello log\n");
    expect(await Array.fromAsync(containers.logs(id, { follow: false }))).not.toEqual([]);
  });

  test("a running container is measured", async ({ skip }) => {
    await using made = await prepared();
    const { containers, id, unsupported, runtime } = made;
    skip(unsupported.includes("stats"), `${runtime} does not support stats`);
    await containers.start(id);

    const stats = await containers.stats(id);

    expect(stats.memoryBytes).toBeGreaterThan(0);
    expect(stats.pids).toBeGreaterThan(0);
  });

  test("what happens to containers with a label is told until the signal", async () => {
    await using made = await prepared({ labels: { ...mark, "org.aimi.test-events": "yes" } });
    const { containers, id, spec } = made;
    const stopping = new AbortController();
    const told: string[] = [];

    const listening = (async () => {
      for await (const { action, name } of containers.events(
        { "org.aimi.test-events": "yes" },
        stopping.signal,
      )) {
        told.push(`${name} ${action}`);
        if (action === "die") stopping.abort();
      }
    })();
    await containers.start(id);
    await containers.stop(id, { graceMs: 0 });
    await listening;

    expect(told).toContain(`${spec.name} die`);
  });

  test("volumes and networks are made, listed by label, and removed, twice if need be", async () => {
    const { engine } = await open();
    const { volumes, networks } = await engine.open();
    const name = `aimi-test-${randomBytes(6).toString("hex")}`;
    const labels = { ...mark, "org.aimi.test-name": name };

    await volumes.create(name, labels);
    await networks.create({ name, labels, internal: true, subnet: null });
    await expect(networks.create({ name, labels, internal: true, subnet: null })).rejects.toMatchObject({
      code: "NAME_TAKEN",
    });
    const [foundVolumes, foundNetworks] = [await volumes.list(labels), await networks.list(labels)];
    const names = await networks.names();
    for (const _ of [1, 2]) {
      await volumes.remove(name);
      await networks.remove(name);
    }

    expect([foundVolumes, foundNetworks]).toEqual([[name], [name]]);
    expect(names).toContain(name);
    expect(names.filter((each) => ["host", "none"].includes(each))).toEqual([]);
    expect([...(await volumes.list(labels)), ...(await networks.list(labels))]).toEqual([]);
    expect(await networks.names()).not.toContain(name);
  });

  test("a root filesystem becomes an image with labels, and goes again", async () => {
    const { engine } = await open();
    const { images } = await engine.open();
    const name = randomBytes(6).toString("hex");
    const tag = `aimi-test-image:${name}`;
    const labels = { ...mark, "org.aimi.test-image": name };
    const file = { kind: "file", path: "hello", mode: 0o644, uid: 0, gid: 0 } as const;

    const id = await images.import(packFiles([{ ...file, content: Buffer.from("x") }]), { tag, labels });
    const [found, listed] = [await images.find(tag), await images.list(labels)];
    await images.remove(tag);

    expect(found).toMatchObject({ id, tags: [tag], labels });
    expect(listed.map((image) => image.id)).toEqual([id]);
    expect(await images.find(tag)).toBeNull();
    expect(await images.remove(tag)).toBe(true);
  });

  test("where nobody answers, every act ends in ENGINE_UNREACHABLE", async () => {
    const { silent, image, runtime } = await open();
    const { containers, images, networks, volumes } = await silent.open();

    for (const ask of [
      () => containers.create(specOf(image, runtime)),
      () => containers.start("aimi-x"),
      () => containers.stop("aimi-x", { graceMs: 0 }),
      () => containers.pause("aimi-x"),
      () => containers.unpause("aimi-x"),
      () => containers.remove("aimi-x"),
      () => containers.inspect("aimi-x"),
      () => containers.exec("aimi-x", { command: ["echo"], input: false }),
      () => containers.openTerminal("aimi-x", { command: ["sh"], columns: 80, rows: 24 }),
      () => containers.copyIn("aimi-x", "/", packFiles([])),
      () => Array.fromAsync(containers.copyOut("aimi-x", "/")),
      () => Array.fromAsync(containers.logs("aimi-x", { follow: false })),
      () => containers.stats("aimi-x"),
      () => containers.commit("aimi-x", { tag: "x:y", labels: {} }),
      () => Array.fromAsync(containers.events({}, new AbortController().signal)),
      () => images.find("x"),
      () => images.list({}),
      () => images.import(packFiles([]), { tag: "x:y", labels: {} }),
      () => images.pull("x:y"),
      () => images.remove("x:y"),
      () => networks.list({}),
      () => volumes.list({}),
    ])
      await expect(ask(), ask.toString()).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE", exitCode: 3 });
  });
}

async function finish(
  execution: ContainerExecution,
): Promise<{ stdout: string; stderr: string; exit: ExecExit }> {
  const texts = { stdout: "", stderr: "" };
  for await (const { stream, bytes } of execution.output) texts[stream] += Buffer.from(bytes).toString();
  return { ...texts, exit: await execution.exit() };
}
