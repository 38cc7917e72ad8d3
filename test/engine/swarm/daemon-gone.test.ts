import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pack } from "tar-stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import type { ContainerSpec } from "../../../src/engine/containers.ts";
import { ensureProbeImage } from "../../../src/engine/docker/probe/probe-image.ts";
import { type ConnectedEngine, labels } from "../../../src/engine/engine.ts";
import type { ImageBuildSpec } from "../../../src/engine/images.ts";
import type { PrivateEngine } from "../../../src/engine/private-engine.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { endProcesses } from "../../../src/machine/processes.ts";
import { runCommand } from "../../../src/sandbox/command/run-command.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { adapterFile, dockerAt, engineAt, openEngine, startEngine } from "../../fakes/engine/engine-at.ts";
import { type EngineProxy, engineProxy } from "../../fakes/engine/engine-proxy.ts";
import { testLabel } from "../../fakes/test-label.ts";

const mark = { [testLabel]: "daemon-gone" };
const node = "/opt/aimi/node";
const goOn = "setInterval(() => console.log('going on'), 20)";

let folder = "";
let privateOne: PrivateEngine;
let endpoint = "";
let image = "";
let direct: ConnectedEngine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "swarm-"));
  privateOne = engineAt(folder);
  await startAgain();
  image = await ensureProbeImage(dockerAt(endpoint), adapterFile);
});

afterAll(async () => {
  await privateOne.stop({ onStep: () => {} });
  await rm(folder, { recursive: true, force: true });
});

async function startAgain(): Promise<void> {
  ({ endpoint } = await startEngine(privateOne));
  direct = await openEngine(endpoint).open();
}

async function killDaemon(): Promise<void> {
  const { pid } = await privateOne.status();
  // What it had said before is still being read.
  if (pid === null) return;
  process.kill(pid, "SIGKILL");
  await endProcesses([pid], 5_000);
}

/** Everything that carries the label of these tests, found by it alone. */
async function removeEverything(): Promise<string[]> {
  const docker = dockerAt(endpoint);
  const listed = await Promise.all(
    [`${testLabel}=${mark[testLabel]}`, `${labels.role}=probe`].map((label) =>
      docker.listContainers({ all: true, filters: { label: [label] } }),
    ),
  );
  const containers = listed.flat();
  for (const { Id } of containers) await direct.containers.remove(Id);
  const images = await direct.images.list(mark);
  for (const { id } of images) await direct.images.remove(id);
  return [...containers.map(({ Names }) => Names[0] ?? ""), ...images.flatMap(({ tags }) => tags)];
}

/** What is there without any regard to labels. */
async function whatIsThere(): Promise<string[]> {
  const docker = dockerAt(endpoint);
  // The engine itself takes away what it made for a build that was given up, in its own time.
  for (const { Id, Labels } of await docker.listContainers({ all: true }))
    if (Labels[testLabel] === undefined)
      await docker
        .getContainer(Id)
        .wait({ condition: "removed" })
        .catch(() => {});
  const containers = await docker.listContainers({ all: true });
  const images = await docker.listImages();
  return [
    ...containers.map(({ Names }) => Names[0] ?? ""),
    ...images.flatMap(({ RepoTags }) => (RepoTags ?? []).filter((tag) => tag !== image)),
  ];
}

function specFor(script: string, changes: Partial<ContainerSpec> = {}): ContainerSpec {
  return specOf(image, "runc", { labels: mark, command: [node, "--eval", script], ...changes });
}

function buildOf(builder: ImageBuildSpec["builder"], tag: string): ImageBuildSpec {
  const file = { kind: "file", path: "Dockerfile", mode: 0o644, uid: 0, gid: 0 } as const;
  const text = `FROM ${image}\nRUN ${JSON.stringify([node, "--eval", goOn])}\n`;
  const context = packFiles([{ ...file, content: Buffer.from(text) }]);
  return { ...{ context, builder, labels: mark, tags: [tag], args: {}, network: false, fresh: false } };
}

/** A tar stream of one file that is never all there; it notes when nobody wants more of it, or fails by itself. */
async function* endless({ failing, onClose }: { failing?: Error; onClose?: () => void }) {
  const archive = pack();
  archive.entry({ name: "big", size: 8_000_000_000 });
  try {
    for await (const header of archive) {
      yield header as Uint8Array;
      break;
    }
    for (let sent = 0; ; sent += 1) {
      if (failing && sent > 50) throw failing;
      yield Buffer.alloc(64 * 1024);
    }
  } finally {
    onClose?.();
  }
}

const smallArchive = (): AsyncIterable<Uint8Array> =>
  packFiles([{ kind: "file", path: "note", mode: 0o644, uid: 0, gid: 0, content: Buffer.from("x") }]);

const newName = (): string => `aimi-test-gone:${randomBytes(6).toString("hex")}`;
const drain = async (stream: AsyncIterable<unknown>, onEach: () => unknown = () => {}): Promise<void> => {
  for await (const _ of stream) await onEach();
};
/** None of this may take as long as a daemon that is waited for in vain. */
const soon = { timeout: 30_000 } as const;

/** One operation, and the moment of it in which the daemon is gone. */
interface Operation {
  readonly name: string;
  readonly line: RegExp;
  readonly moment: "request" | "answer";
  readonly act: (engine: ConnectedEngine, running: string, created: string) => Promise<unknown>;
}

const operations: readonly Operation[] = [
  ...(["request", "answer"] as const).flatMap((moment): Operation[] => [
    {
      ...{ name: "create", line: /^POST \/containers\/create/, moment },
      act: ({ containers }) => containers.create(specFor(goOn)),
    },
    {
      ...{ name: "the look at what was created", line: /^GET \/containers\/.*\/json/, moment },
      act: ({ containers }) => containers.create(specFor(goOn)),
    },
    {
      ...{ name: "start", line: /\/start$/, moment },
      act: ({ containers }, _running, created) => containers.start(created),
    },
    {
      ...{ name: "stop", line: /\/stop/, moment },
      act: ({ containers }, running) => containers.stop(running, { graceMs: 0 }),
    },
    {
      ...{ name: "pause", line: /\/pause/, moment },
      act: ({ containers }, running) => containers.pause(running),
    },
    {
      ...{ name: "remove", line: /^DELETE \/containers/, moment },
      act: ({ containers }, running) => containers.remove(running),
    },
    {
      ...{ name: "look", line: /\/json/, moment },
      act: ({ containers }, running) => containers.inspect(running),
    },
    {
      ...{ name: "stats", line: /\/stats/, moment },
      act: ({ containers }, running) => containers.stats(running),
    },
    {
      ...{ name: "commit", line: /^POST \/commit/, moment },
      act: ({ containers }, running) => containers.commit(running, { tag: newName(), labels: mark }),
    },
    {
      ...{ name: "copying out", line: /^GET .*\/archive/, moment },
      act: ({ containers }, _running, created) => drain(containers.copyOut(created, "/opt/aimi/node")),
    },
    {
      ...{ name: "following the log", line: /\/logs/, moment },
      act: ({ containers }, running) => drain(containers.logs(running, { follow: true })),
    },
    {
      ...{ name: "reading the log", line: /\/logs/, moment },
      act: ({ containers }, running) => drain(containers.logs(running, { follow: false })),
    },
    {
      ...{ name: "listening to events", line: /^GET \/events/, moment },
      act: ({ containers }) => drain(containers.events(mark, new AbortController().signal)),
    },
    {
      ...{ name: "a program's beginning", line: /^POST \/containers\/.*\/exec/, moment },
      act: ({ containers }, running) =>
        containers.exec(running, { command: [node, "--version"], input: false }),
    },
    {
      ...{ name: "a build by BuildKit", line: /^POST \/build/, moment },
      act: ({ images }) => images.build(buildOf("buildkit", newName()), () => {}),
    },
    {
      ...{ name: "a build by the classic builder", line: /^POST \/build/, moment },
      act: ({ images }) => images.build(buildOf("classic", newName()), () => {}),
    },
    {
      ...{ name: "copying in", line: /^PUT .*\/archive/, moment },
      act: ({ containers }, _running, created) => containers.copyIn(created, "/opt", smallArchive()),
    },
    {
      ...{ name: "an import", line: /^POST \/images\/create/, moment },
      act: ({ images }) => images.import(smallArchive(), { tag: newName(), labels: mark }),
    },
    {
      ...{ name: "a pull", line: /^POST \/images\/create/, moment },
      act: ({ images }) => images.pull("aimi-test-none.invalid/x:y"),
    },
    {
      ...{ name: "a search for an image", line: /^GET \/images/, moment },
      act: ({ images }) => images.find(image),
    },
    {
      ...{ name: "a list of images", line: /^GET \/images/, moment },
      act: ({ images }) => images.list(mark),
    },
  ]),
];

describe("a daemon that is gone in the middle of", () => {
  let proxy: EngineProxy;
  let running = "";
  let created = "";

  beforeEach(async () => {
    const { containers } = direct;
    ({ id: running } = await containers.create(specFor(goOn)));
    ({ id: created } = await containers.create(specFor(goOn)));
    await containers.start(running);
  });

  afterEach(async () => {
    await proxy[Symbol.asyncDispose]();
    await removeEverything();
    expect(await whatIsThere()).toEqual([]);
  });

  /** An engine that is gone from the first such moment on. */
  async function goneAt(line: RegExp, moment: Operation["moment"]): Promise<ConnectedEngine> {
    const dieAt = (seen: string): void => {
      if (line.test(seen)) proxy.die();
    };
    proxy = await engineProxy({
      ...{ endpoint, socket: join(folder, `${randomBytes(4).toString("hex")}.sock`) },
      ...(moment === "request" ? { onRequest: dieAt } : { onAnswer: dieAt }),
    });
    return openEngine(proxy.endpoint).open();
  }

  test.for(operations)("$name, at its $moment: ENGINE_UNREACHABLE", soon, async (operation) => {
    const engine = await goneAt(operation.line, operation.moment);

    await expect(operation.act(engine, running, created)).rejects.toMatchObject({
      ...{ name: "SwarmError", code: "ENGINE_UNREACHABLE", exitCode: 3 },
      hint: expect.stringContaining("swarm"),
    });

    expect(proxy.lines.some((seen) => operation.line.test(seen))).toBe(true);
  });

  test("control: dockerode alone waits for ever for an answer that breaks off", soon, async () => {
    let begun = 0;
    proxy = await engineProxy({
      ...{ endpoint, socket: join(folder, "control.sock") },
      onAnswer() {
        begun += 1;
        if (begun === 2) return proxy.die();
        return new Promise(() => {});
      },
    });
    const { containers } = await openEngine(proxy.endpoint).open();

    const theirs = dockerAt(proxy.endpoint).getContainer(running).inspect();
    await expect(containers.inspect(running)).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });

    const turns = (async () => {
      for (let turn = 0; turn < 1_000; turn += 1) await nextTurn();
      return "still waiting";
    })();
    const told = theirs.then(
      () => "answered",
      () => "failed",
    );
    expect(await Promise.race([told, turns])).toBe("still waiting");
  });

  test("reading what a program writes: nobody makes up how it ended", soon, async () => {
    const { containers } = await goneAt(/never/, "request");
    await using execution = await containers.exec(running, {
      command: [node, "--eval", goOn],
      input: false,
    });

    let read = "";
    const reading = (async () => {
      for await (const { bytes } of execution.output) {
        read += Buffer.from(bytes).toString();
        proxy.die();
      }
    })();
    const failure = await reading.catch((error: unknown) => error);

    // Where the last message is whole, only the exit tells.
    if (failure !== undefined) expect(failure).toMatchObject({ code: "ENGINE_UNREACHABLE" });
    expect(read).toMatch(/^going on\n/);
    expect(await execution.exit()).toMatchObject({ kind: "lost" });
  });

  test("writing to a program that takes it slowly: writing ends, and nobody makes up how", soon, async () => {
    const { containers } = await goneAt(/never/, "request");
    const command = [
      node,
      "--eval",
      "process.stdin.once('data', () => { console.log('reading'); process.stdin.pause() }); setInterval(() => {}, 1000)",
    ];
    await using execution = await containers.exec(running, { command, input: true });
    const writing = (async () => {
      for (let piece = 0; piece < 1_000; piece += 1) await execution.write(Buffer.alloc(64 * 1024));
      await execution.endInput();
    })();

    const failure = await drain(execution.output, () => proxy.die()).catch((error: unknown) => error);
    await writing;

    if (failure !== undefined) expect(failure).toMatchObject({ code: "ENGINE_UNREACHABLE" });
    expect(await execution.exit()).toMatchObject({ kind: "lost" });
  });

  test.for([
    [
      "copying in",
      /^PUT .*\/archive/,
      ({ containers }: ConnectedEngine, archive: AsyncIterable<Uint8Array>) =>
        containers.copyIn(created, "/opt", archive),
    ],
    [
      "an import",
      /^POST \/images\/create/,
      ({ images }: ConnectedEngine, archive: AsyncIterable<Uint8Array>) =>
        images.import(archive, { tag: newName(), labels: mark }),
    ],
  ] as const)("%s of more than it ever takes: the archive is closed too", soon, async ([, line, act]) => {
    const engine = await goneAt(line, "request");
    const closed = Promise.withResolvers<void>();

    await expect(act(engine, endless({ onClose: closed.resolve }))).rejects.toMatchObject({
      code: "ENGINE_UNREACHABLE",
    });

    await closed.promise;
  });
});

describe("an archive that cannot be read to its end is the reason that is told", () => {
  const broken = new Error("a file has changed while it was read");
  const archive = (): AsyncIterable<Uint8Array> => endless({ failing: broken });

  afterEach(async () => {
    expect(await whatIsThere()).toEqual([]);
  });

  test("while copying in, and the container is not held by the half of it", soon, async () => {
    const { containers } = direct;
    const { id } = await containers.create(specFor(goOn));

    await expect(containers.copyIn(id, "/opt", archive())).rejects.toBe(broken);

    await containers.remove(id);
  });

  test("by an import", soon, async () => {
    await expect(direct.images.import(archive(), { tag: newName(), labels: mark })).rejects.toBe(broken);
  });

  test.for(["classic", "buildkit"] as const)("by a build, %s", soon, async (builder) => {
    const spec = { ...buildOf(builder, newName()), context: archive() };

    await expect(direct.images.build(spec, () => {})).rejects.toBe(broken);
  });
});

describe("a command whose engine", () => {
  const shared = inject("endpoint");
  let id = "";

  beforeAll(async () => {
    const { containers } = await openEngine(shared).open();
    ({ id } = await containers.create(specOf(baseImage, "runc", { labels: mark })));
    await containers.start(id);
  });

  afterAll(async () => {
    await (await openEngine(shared).open()).containers.remove(id);
  });

  const limits = { timeoutMs: 5_000, outputLimit: 1_000 };

  test(
    "is gone while input still goes in: one foreseen error, and nothing goes wrong unheard",
    soon,
    async () => {
      await using proxy = await engineProxy({ endpoint: shared, socket: join(folder, "command.sock") });
      const { containers } = await openEngine(proxy.endpoint).open();
      const request = {
        ...{ command: ["sh", "-c", "echo reading; sleep 60"], ...limits },
        ...{ input: Buffer.alloc(32_000_000), onOutput: () => proxy.die() },
      };

      await expect(runCommand({ containers, containerId: id }, request)).rejects.toMatchObject({
        ...{ name: "SwarmError", code: "ENGINE_UNREACHABLE" },
      });
    },
  );

  test("does not answer any more when it has ended: its time limit holds all the same", soon, async () => {
    let isDeaf = false;
    await using proxy = await engineProxy({
      ...{ endpoint: shared, socket: join(folder, "deaf.sock") },
      async onRequest(line) {
        if (isDeaf || !/^GET \/exec/.test(line)) return;
        isDeaf = true;
        await new Promise(() => {});
      },
    });
    const { containers } = await openEngine(proxy.endpoint).open();
    const request = { command: ["echo", "done"], ...limits, timeoutMs: 1_000 };

    await expect(runCommand({ containers, containerId: id }, request)).rejects.toMatchObject({
      code: "COMMAND_TIMEOUT",
    });
    expect(isDeaf).toBe(true);
  });
});

describe("a real daemon, killed -9 in the middle of", () => {
  afterEach(async () => {
    await startAgain();
    await removeEverything();
    expect(await whatIsThere()).toEqual([]);
  });

  test("a program that writes: lost, and after the next start its container is found and removed", async () => {
    const { containers } = direct;
    const { id } = await containers.create(specFor("setInterval(() => {}, 1000)"));
    await containers.start(id);
    await using execution = await containers.exec(id, { command: [node, "--eval", goOn], input: false });

    const failure = await drain(execution.output, killDaemon).catch((error: unknown) => error);

    if (failure !== undefined) expect(failure).toMatchObject({ code: "ENGINE_UNREACHABLE" });
    expect(await execution.exit()).toMatchObject({ kind: "lost" });
    await expect(containers.inspect(id)).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });

    await startAgain();
    expect(await direct.containers.inspect(id)).toMatchObject({ id, labels: mark });
    expect(await removeEverything()).toHaveLength(1);
  });

  test("a build: ENGINE_UNREACHABLE, and the next start leaves nothing of it", async () => {
    let kill: Promise<void> | undefined;

    const building = direct.images.build(buildOf("buildkit", newName()), ({ kind }) => {
      if (kind === "output") kill ??= killDaemon();
    });

    await expect(building).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE", exitCode: 3 });
    await kill;
  });

  test("a start, and listening to what happens: both end, and the container is found again", async () => {
    const { id } = await direct.containers.create(specFor(goOn));
    const listening = drain(direct.containers.events(mark, new AbortController().signal));
    const listened = expect(listening).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });
    await using proxy = await engineProxy({
      ...{ endpoint, socket: join(folder, "killed.sock") },
      onRequest: (line) => (line.endsWith("/start") ? killDaemon() : undefined),
    });
    const { containers } = await openEngine(proxy.endpoint).open();

    await expect(containers.start(id)).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });

    await listened;
    await startAgain();
    expect(await direct.containers.inspect(id)).toMatchObject({ id });
  });

  test("measuring a runtime: ENGINE_UNREACHABLE, which nobody takes for a runtime that fails", async () => {
    await using proxy = await engineProxy({
      ...{ endpoint, socket: join(folder, "probed.sock") },
      onAnswer: (line) => (line.includes("/wait") ? killDaemon() : undefined),
    });

    await expect(openEngine(proxy.endpoint).probe("runc")).rejects.toMatchObject({
      code: "ENGINE_UNREACHABLE",
    });
  });
});

describe("a daemon that is stopped as it should be", () => {
  test("ends the stream of events with an error all the same: who listens must know that it is deaf", async () => {
    const { containers } = direct;
    const { id } = await containers.create(
      specFor(goOn, { labels: { ...mark, "org.aimi.test-last": "yes" } }),
    );
    const heard: string[] = [];
    const listening = (async () => {
      for await (const { action } of containers.events(mark, new AbortController().signal))
        heard.push(action);
    })();
    const listened = expect(listening).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });
    await containers.start(id);

    await privateOne.stop({ onStep: () => {} });

    await listened;
    expect(heard).toContain("die");
    await startAgain();
    await removeEverything();
    expect(await whatIsThere()).toEqual([]);
  });
});
