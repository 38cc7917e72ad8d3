import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packFiles } from "../../../src/archive/pack-files.ts";
import type { AcpMessage, TaskRequestPayload } from "../../../src/contract/acp.ts";
import type { ScriptSteps } from "../../../src/contract/script-agent.ts";
import type { UserStory } from "../../../src/contract/tasks.ts";
import type { ContainerExecution, ContainerSpec, Containers } from "../../../src/engine/containers.ts";
import type { ContainerEngine } from "../../../src/engine/engine.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { defaultLimits } from "../../../src/sandbox/sandbox-defaults.ts";
import { workerContainerSpec } from "../../../src/swarm/worker/worker-container.ts";
import { eventually } from "../eventually.ts";
import { git, write } from "../git/repository.ts";
import { testLabel } from "../test-label.ts";

type Message<Type extends AcpMessage["type"]> = Extract<AcpMessage, { readonly type: Type }>;

export interface WorkerOptions {
  readonly runtime?: string;
  readonly image?: string;
  readonly limits?: Partial<ContainerSpec["limits"]>;
  readonly network?: ContainerSpec["network"];
  readonly attempt?: number;
  readonly swarmId?: string;
  readonly name?: string;
  /** A tar stream that is unpacked at / before the start. */
  readonly files?: AsyncIterable<Uint8Array>;
  readonly spec?: Partial<ContainerSpec>;
  /** How many files its repository has beside the first. */
  readonly trackedFiles?: number;
}

/** A worker's container on a real engine, and a repository whose bundle lies in it. */
export interface Worker extends AsyncDisposable {
  readonly containers: Containers;
  readonly id: string;
  readonly name: string;
  readonly swarmId: string;
  /** The host's repository. */
  readonly repository: string;
  readonly base: string;
  attach(from?: number): Promise<Attached>;
  /** Runs a program in the container. */
  run(command: readonly string[], user?: "0:0" | "1000:1000"): Promise<{ code: number; text: string }>;
  /** Waits until the container has ended, and gives its exit code; throws when that takes too long. */
  ended(): Promise<number>;
  /** A file below /aimi as it is now, by a running container; throws when there is none. */
  read(path: string): Promise<Buffer>;
  /** Removes the container alone and makes a new one on its volumes. */
  replace(): Promise<void>;
  start(): Promise<void>;
}

/** A line to the supervisor, read and written as plainly as can be: what is tested is the adapter. */
export interface Attached extends AsyncDisposable {
  readonly execution: ContainerExecution;
  readonly messages: readonly AcpMessage[];
  send(type: string, payload: unknown, changes?: Readonly<Record<string, unknown>>): Promise<void>;
  sendRaw(text: string): Promise<void>;
  /** The first message, old or new, that fits. */
  until(fits: (message: AcpMessage) => boolean): Promise<AcpMessage>;
  untilType<Type extends AcpMessage["type"]>(type: Type): Promise<Message<Type>>;
  /** Resolves when the line has ended. */
  readonly closed: Promise<void>;
  readonly complaint: string;
}

const endsWithinMs = 60_000;
const zeroId = "0".repeat(64);

export async function startWorker(engine: ContainerEngine, options: WorkerOptions = {}): Promise<Worker> {
  const { containers, volumes } = await engine.open();
  const { runtime = "runc", attempt = 1, swarmId = randomUUID() } = options;
  const name = options.name ?? `aimi-test-${swarmId.slice(0, 8)}`;
  const folder = mkdtempSync(join(tmpdir(), "swarm-worker-"));
  const repository = join(folder, "repository");
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", repository]);
  write(repository, "README.md", "# A sample\n");
  for (let index = 0; index < (options.trackedFiles ?? 0); index += 1)
    write(repository, `many/${index % 100}/${index}.txt`, `${index}\n`);
  git(repository, "add", "--all");
  git(
    repository,
    "-c",
    "user.name=T",
    "-c",
    "user.email=t@example.invalid",
    "commit",
    "--quiet",
    "-m",
    "Begin",
  );
  const base = git(repository, "rev-parse", "HEAD").trim();
  git(repository, "bundle", "create", "--quiet", join(folder, "repo.bundle"), "--all");

  const door = { network: options.network ?? ({ kind: "none" } as const), volumes: [], env: {} };
  const spec: ContainerSpec = {
    ...workerContainerSpec(
      {
        image: options.image ?? baseImage,
        runtime,
        limits: { ...defaultLimits, memoryBytes: 1024 ** 3, ...options.limits },
      },
      door,
      { name, slug: name, labels: { [testLabel]: "worker" }, swarmId, attempt, branch: "feat/work" },
    ),
    tmpBytes: 64 * 1024 ** 2,
    ...options.spec,
  };
  let id = "";

  const make = async (isNew: boolean): Promise<void> => {
    ({ id } = await containers.create(spec));
    const root = { uid: 0, gid: 0 };
    if (isNew)
      await containers.copyIn(
        id,
        "/aimi",
        packFiles([
          { kind: "folder", path: "in", mode: 0o700, ...root },
          {
            kind: "file",
            path: "in/repo.bundle",
            mode: 0o600,
            ...root,
            content: readFileSync(join(folder, "repo.bundle")),
          },
        ]),
      );
    if (isNew && options.files) await containers.copyIn(id, "/", options.files);
    await containers.start(id);
  };
  const discard = async (): Promise<void> => {
    await containers.remove(spec.name);
    for (const volume of spec.volumes) await volumes.remove(volume.name);
    rmSync(folder, { recursive: true, force: true });
  };
  await using undo = new AsyncDisposableStack();
  undo.defer(discard);
  for (const volume of spec.volumes) await volumes.create(volume.name, { [testLabel]: "worker" });
  await make(true);
  undo.move();

  const run: Worker["run"] = async (command, user = "0:0") => {
    await using execution = await containers.exec(id, { command, user, input: false });
    const chunks: Uint8Array[] = [];
    for await (const { bytes } of execution.output) chunks.push(bytes);
    const exit = await execution.exit();
    return { code: exit.kind === "exited" ? exit.code : -1, text: Buffer.concat(chunks).toString() };
  };

  return {
    containers,
    get id() {
      return id;
    },
    ...{ name, swarmId, repository, base, run },
    attach: (from = 0) => attachTo(containers, id, swarmId, from),
    ended: () =>
      eventually(
        `the end of ${name}`,
        async () => {
          const facts = await containers.inspect(id);
          return facts === null || facts.state === "exited" ? (facts?.exitCode ?? -1) : null;
        },
        endsWithinMs,
      ),
    async read(path) {
      await using execution = await containers.exec(id, {
        command: ["cat", path],
        user: "0:0",
        input: false,
      });
      const chunks: Uint8Array[] = [];
      const complaints: Uint8Array[] = [];
      for await (const { stream, bytes } of execution.output)
        (stream === "stdout" ? chunks : complaints).push(bytes);
      const exit = await execution.exit();
      if (exit.kind !== "exited" || exit.code !== 0)
        throw new Error(`${path} cannot be read: ${Buffer.concat(complaints)} ${JSON.stringify(exit)}`);
      return Buffer.concat(chunks);
    },
    start: () => containers.start(id),
    async replace() {
      await containers.remove(id);
      await make(false);
    },
    [Symbol.asyncDispose]: discard,
  };
}

async function attachTo(
  containers: Containers,
  id: string,
  swarmId: string,
  from: number,
): Promise<Attached> {
  // A container that has only just started has no supervisor yet.
  const wait = 'until /opt/aimi/adapter attach --from "$1"; do [ $? = 3 ] || exit; sleep 0.05; done';
  const command = ["sh", "-c", wait, "sh", String(from)];
  const execution = await containers.exec(id, { command, user: "0:0", input: true });
  const messages: AcpMessage[] = [];
  let waiting: (() => void)[] = [];
  let complaint = "";
  let isClosed = false;
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const each of woken) each();
  };
  const closed = (async () => {
    let rest = "";
    for await (const { stream, bytes } of execution.output) {
      if (stream === "stderr") {
        complaint += Buffer.from(bytes).toString();
        continue;
      }
      rest += Buffer.from(bytes).toString();
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) messages.push(JSON.parse(line));
      wake();
    }
  })()
    .catch(() => {})
    .finally(() => {
      isClosed = true;
      wake();
    });

  const until: Attached["until"] = async (fits) => {
    for (let seen = 0; ; ) {
      for (; seen < messages.length; seen += 1) {
        const message = messages[seen];
        if (message && fits(message)) return message;
      }
      if (isClosed)
        throw new Error(`the line ended; last: ${JSON.stringify(messages.slice(-6))} ${complaint}`);
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const sendRaw = (text: string): Promise<void> => execution.write(Buffer.from(text));
  return {
    ...{ execution, messages, until, sendRaw, closed },
    get complaint() {
      return complaint;
    },
    send: (type, payload, changes = {}) =>
      sendRaw(
        `${JSON.stringify({ type, timestamp: new Date().toISOString(), swarmId, containerId: id || zeroId, payload, ...changes })}\n`,
      ),
    untilType: async (type) => (await until((message) => message.type === type)) as never,
    async [Symbol.asyncDispose]() {
      await execution[Symbol.asyncDispose]();
      await closed;
    },
  };
}

export function story(id: string, changes: Partial<UserStory> = {}): UserStory {
  return { id, title: `Do ${id}`, description: "", acceptanceCriteria: [], priority: 1, ...changes };
}

/** A request for stories that a script carries out. */
export function scripted(
  worker: Pick<Worker, "base">,
  script: Readonly<Record<string, ScriptSteps>>,
  { stories, ...changes }: Partial<TaskRequestPayload> & { readonly stories?: readonly UserStory[] } = {},
): TaskRequestPayload {
  return {
    ...{ taskFilePath: ".aimi/tasks/2026-01-01-work-tasks.json", branchName: "feat/work" },
    ...{ repoUrl: "bundle:/aimi/in/repo.bundle", baseCommit: worker.base },
    taskFile: {
      schemaVersion: "3.0",
      metadata: { title: "feat: work", branchName: "feat/work" },
      userStories: stories ?? Object.keys(script).map((id) => story(id)),
    },
    agent: { kind: "script", script },
    author: { name: "Ada", email: "ada@example.invalid" },
    ...changes,
  };
}

/** What a bundle's ref names, fetched into the host's repository as git checks it. */
export function fetchBundle(repository: string, bytes: Buffer, ref: string): string {
  const file = join(repository, ".git", "fetched.bundle");
  writeFileSync(file, bytes);
  git(repository, "fetch", "--quiet", file, `+${ref}:refs/fetched`);
  return git(repository, "rev-parse", "refs/fetched").trim();
}
