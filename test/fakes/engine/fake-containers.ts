import { randomBytes } from "node:crypto";
import { type EntryToPack, packFiles } from "../../../src/archive/pack-files.ts";
import { readArchive } from "../../../src/archive/read-archive.ts";
import type {
  ContainerEvent,
  ContainerExecution,
  ContainerFacts,
  ContainerSpec,
  Containers,
  ExecExit,
  OutputChunk,
} from "../../../src/engine/containers.ts";
import { isContainerName } from "../../../src/engine/rules/is-container-name.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { fakeTerminal } from "./fake-terminal.ts";

interface FakeContainer {
  readonly id: string;
  readonly spec: ContainerSpec;
  state: ContainerFacts["state"];
  exitCode: number | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  readonly files: Map<string, Uint8Array>;
  readonly log: OutputChunk[];
  readonly ended: PromiseWithResolvers<void>;
}

type Answer = <Result>(
  signal: AbortSignal | undefined,
  result: () => Result | Promise<Result>,
) => Promise<Result>;

/** Containers in memory, whose programs are `echo`, `cat`, `sleep`, `printenv` and `false`. */
export function fakeContainers(answer: Answer): Containers {
  const containers = new Map<string, FakeContainer>();
  const executions = new Map<string, ExecExit | null>();
  const listeners = new Set<(event: ContainerEvent) => void>();
  const find = (id: string): FakeContainer | undefined =>
    [...containers.values()].find(
      (container) => container.spec.name === id || (id.length >= 12 && container.id.startsWith(id)),
    );
  const known = (id: string): FakeContainer => {
    const container = find(id);
    if (!container) throw new SwarmError("CONTAINER_GONE", { id });
    return container;
  };
  const tell = ({ id, spec }: FakeContainer, action: string): void => {
    for (const listener of listeners) listener({ containerId: id, name: spec.name, action });
  };
  const end = (container: FakeContainer, exitCode: number): void => {
    if (container.state !== "running" && container.state !== "paused") return;
    container.state = "exited";
    container.exitCode = exitCode;
    container.finishedAt = new Date();
    container.ended.resolve();
    tell(container, "die");
  };

  return {
    create: (spec, signal) =>
      answer(signal, () => {
        if (!isContainerName(spec.name))
          throw new SwarmError("SPEC_REFUSED", {
            field: `The name ${spec.name}`,
            reason: "it is no name of ours",
          });
        const same = find(spec.name);
        if (same) {
          if (JSON.stringify(same.spec.labels) !== JSON.stringify(spec.labels))
            throw new SwarmError("NAME_TAKEN", { name: spec.name });
          return { id: same.id, diskLimit: "watched" };
        }
        const container: FakeContainer = {
          ...{ id: randomBytes(32).toString("hex"), spec, state: "created", exitCode: null },
          ...{ startedAt: null, finishedAt: null, files: new Map(), log: [], ended: Promise.withResolvers() },
        };
        containers.set(container.id, container);
        return { id: container.id, diskLimit: "watched" };
      }),

    start: (id, signal) =>
      answer(signal, () => {
        const container = known(id);
        container.state = "running";
        container.startedAt = new Date();
        container.log.push(...outputOf(container, container.spec.command, new Uint8Array()).chunks);
        tell(container, "start");
      }),

    stop: (id, _options, signal) => answer(signal, () => end(known(id), 143)),
    pause: (id, signal) =>
      answer(signal, () => {
        running(known(id)).state = "paused";
      }),
    unpause: (id, signal) =>
      answer(signal, () => {
        known(id).state = "running";
      }),

    remove: (id, signal) =>
      answer(signal, () => {
        const container = find(id);
        if (!container) return;
        end(container, 137);
        containers.delete(container.id);
      }),

    inspect: (id, _options, signal) =>
      answer(signal, () => {
        const container = find(id);
        if (!container) return null;
        const { spec, state, exitCode, startedAt, finishedAt } = container;
        return {
          ...{ id: container.id, name: spec.name, imageId: spec.image, labels: spec.labels, state, exitCode },
          ...{ startedAt, finishedAt, memoryExhausted: false, diskBytes: 0 },
        };
      }),

    exec: (id, spec, signal) =>
      answer(signal, () => {
        const container = running(known(id));
        const execId = randomBytes(32).toString("hex");
        executions.set(execId, null);
        const input: Uint8Array[] = [];
        const inputEnded = Promise.withResolvers<void>();
        if (!spec.input) inputEnded.resolve();
        const aborted = Promise.withResolvers<never>();
        aborted.promise.catch(() => {});
        signal?.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
        const finish = async (): Promise<{ chunks: OutputChunk[]; exit: ExecExit }> => {
          const [program] = spec.command;
          if (program === "cat" && spec.command.length === 1)
            await Promise.race([inputEnded.promise, container.ended.promise]);
          if (program === "sleep") await container.ended.promise;
          if (container.state !== "running")
            return { chunks: [], exit: { kind: "lost", reason: `the container is ${container.state}` } };
          const { chunks, code } = outputOf(container, spec.command, Buffer.concat(input), spec.env);
          return { chunks, exit: { kind: "exited", code } };
        };
        const finished = finish().then((result) => {
          executions.set(execId, result.exit);
          return result;
        });
        const execution: ContainerExecution = {
          id: execId,
          write: async (bytes) => void input.push(bytes),
          endInput: async () => inputEnded.resolve(),
          output: {
            async *[Symbol.asyncIterator]() {
              yield* (await Promise.race([finished, aborted.promise])).chunks;
            },
          },
          exit: async () => (await finished).exit,
          [Symbol.asyncDispose]: async () => {},
        };
        return execution;
      }),

    openTerminal: (id, spec, signal) =>
      answer(signal, () => {
        const container = running(known(id));
        return fakeTerminal(
          spec,
          container.ended.promise.then(() => container.state),
          signal,
        );
      }),

    copyIn: (id, path, archive, signal) =>
      answer(signal, async () => {
        const { files } = known(id);
        for await (const entry of readArchive(archive, {
          limits: { entries: 1e4, bytes: 1e9, nameBytes: 4096 },
        })) {
          if (entry.kind === "file") files.set(`${path}/${entry.path}`, await bytesOf(entry.content));
        }
      }),

    async *copyOut(id, path, signal) {
      const { files } = await answer(signal, () => known(id));
      const found = [...files].filter(([file]) => file === path || file.startsWith(`${path}/`));
      if (found.length === 0) throw new SwarmError("FILE_NOT_FOUND", { path });
      const parent = path.slice(0, path.lastIndexOf("/") + 1);
      yield* packFiles(
        found.map(
          ([file, content]): EntryToPack => ({
            ...{ kind: "file", path: file.slice(parent.length), mode: 0o644, uid: 0, gid: 0 },
            content,
          }),
        ),
      );
    },

    async *logs(id, _options, signal) {
      yield* (await answer(signal, () => known(id))).log;
    },

    stats: (id, signal) =>
      answer(signal, () => {
        running(known(id));
        return {
          ...{ cpuPercent: 0, memoryBytes: 1_000_000, memoryLimitBytes: 64 * 1024 ** 2, pids: 1 },
          ...{ networkInBytes: 0, networkOutBytes: 0 },
        };
      }),

    commit: (id, _options, signal) => answer(signal, () => `sha256:${known(id).id}`),

    async *events(labels, signal) {
      await answer(signal, () => {});
      const queue: ContainerEvent[] = [];
      let wake = Promise.withResolvers<void>();
      const listener = (event: ContainerEvent): void => {
        const found = find(event.containerId)?.spec.labels ?? {};
        if (!Object.entries(labels).every(([name, value]) => found[name] === value)) return;
        queue.push(event);
        wake.resolve();
      };
      listeners.add(listener);
      signal.addEventListener("abort", () => wake.resolve(), { once: true });
      while (!signal.aborted) {
        yield* queue.splice(0);
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
      listeners.delete(listener);
    },
  };
}

function running(container: FakeContainer): FakeContainer {
  if (container.state !== "running")
    throw new SwarmError("CONTAINER_NOT_RUNNING", { id: container.spec.name, state: container.state });
  return container;
}

function outputOf(
  { files }: FakeContainer,
  [program, ...args]: readonly string[],
  input: Uint8Array,
  env: Readonly<Record<string, string>> = {},
): { chunks: OutputChunk[]; code: number } {
  const say = (text: string | Uint8Array): OutputChunk => ({ stream: "stdout", bytes: Buffer.from(text) });
  switch (program) {
    case "echo":
      return { chunks: [say(`${args.join(" ")}\n`)], code: 0 };
    case "printenv":
      return { chunks: [say(`${env[args[0] ?? ""] ?? ""}\n`)], code: 0 };
    case "cat": {
      const [path] = args;
      const content = path === undefined ? input : files.get(path);
      if (content) return { chunks: [say(content)], code: 0 };
      const problem = Buffer.from(`cat: ${path}: No such file or directory\n`);
      return { chunks: [{ stream: "stderr", bytes: problem }], code: 1 };
    }
    case "false":
      return { chunks: [], code: 1 };
    default:
      return { chunks: [], code: 0 };
  }
}

async function bytesOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(content));
}
