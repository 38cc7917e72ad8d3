import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import writeFileAtomic from "write-file-atomic";
import { SwarmError } from "../domain/errors.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { OutputChunk } from "../ports/containers.ts";
import type { Lock } from "../ports/lock.ts";
import type { DestroyedSandbox, SandboxFolders } from "../ports/sandbox-folders.ts";
import { findInputs } from "./find-inputs.ts";
import { liesInside } from "./inside.ts";
import { openOutputLog } from "./output-log.ts";
import { ownOutputs, placeOutputs } from "./place-outputs.ts";

export interface SandboxFoldersDeps {
  /** The repository's folder, or the one that the command was started in. */
  readonly root: string;
  /** Where globs begin. */
  readonly folder: string;
  readonly parseRecord: (bytes: Uint8Array, file: string) => Promise<SandboxRecord>;
  readonly lockAt: (file: string) => Promise<Lock>;
  readonly clock: () => Date;
}

const idForm = /^[A-Za-z0-9_-]{8}$/;
const lookAgainMs = 200;
/** Several times what a record can have: two hundred paths twice, of 4096 characters each. */
const largestRecord = 8 * 1024 * 1024;
const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;

/** `.aimi/sandboxes/` below a folder. */
export function sandboxFolders({
  root,
  folder,
  parseRecord,
  lockAt,
  clock,
}: SandboxFoldersDeps): SandboxFolders {
  const all = join(root, ".aimi", "sandboxes");
  const pathFor = (id: string, ...names: string[]): string => join(all, id, ...names);
  const destroyedFile = join(all, "destroyed.ndjson");
  const tell: SandboxFolders["tell"] = (id, event) =>
    appendLine(pathFor(id, "events.log"), `${JSON.stringify({ time: clock().toISOString(), ...event })}\n`);

  const readRecord = async (id: string): Promise<SandboxRecord | null> => {
    const file = pathFor(id, "run.json");
    const bytes = await readRecordFile(file).catch(ifMissing(null));
    if (bytes === null) return null;
    const link = await findLink(pathFor(id));
    if (link)
      throw new SwarmError("FILE_FAILED", {
        file: link,
        reason: "it is a link, and this sandbox is left alone",
      });
    return parseRecord(bytes, file);
  };

  return {
    root: all,
    pathFor,
    tell,

    async list() {
      const names = await readdir(all).catch(ifMissing([]));
      const records: SandboxRecord[] = [];
      const unreadable: string[] = [];
      for (const id of names.filter((name) => idForm.test(name))) {
        try {
          const record = await readRecord(id);
          if (record) records.push(record);
        } catch (error) {
          if (!(error instanceof SwarmError)) throw error;
          unreadable.push(error.message);
        }
      }
      records.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
      return { records, unreadable };
    },

    read: readRecord,

    async make(id, { spec, inputs }) {
      if (!(await liesInside(root, all)))
        throw new SwarmError("FILE_FAILED", {
          file: ".aimi/sandboxes",
          reason: "a link there leads out of the folder",
        });
      await mkdir(all, { recursive: true });
      await writeFile(join(all, ".gitignore"), "*\n", { flag: "wx" }).catch(ifPresent);
      await mkdir(pathFor(id), { mode: 0o755 });
      await using undo = new AsyncDisposableStack();
      undo.defer(() => rm(pathFor(id), { recursive: true, force: true }));
      for (const name of ["inputs", "work", "outputs"]) await mkdir(pathFor(id, name));
      await writeFile(pathFor(id, "sandbox.yaml"), spec);
      for (const { path, from } of inputs) {
        const copy = pathFor(id, "inputs", path);
        await mkdir(dirname(copy), { recursive: true });
        await copyFile(from, copy);
        await chmod(copy, 0o444);
      }
      undo.move();
    },

    async write(record) {
      await writeFileAtomic(pathFor(record.id, "run.json"), `${JSON.stringify(record, null, 2)}\n`);
    },

    openOutput: (id) => openOutputLog(pathFor(id, "outputs"), (event) => tell(id, event)),

    readOutput: (id, options, signal) => readPieces(pathFor(id), options, signal),

    async writeSummary(summary) {
      const file = pathFor(summary.sandboxId, "outputs", "summary.json");
      await writeFileAtomic(file, `${JSON.stringify(summary, null, 2)}\n`);
    },

    async replaceWork(id, collected) {
      await rm(pathFor(id, "work"), { recursive: true, force: true });
      await rename(collected, pathFor(id, "work"));
    },

    replaceOutputs: (id, collected, expected) => placeOutputs(pathFor(id, "outputs"), collected, expected),

    async addDestroyed(line) {
      await appendLine(destroyedFile, `${JSON.stringify(line)}\n`);
    },

    async findDestroyed(id) {
      const text = await readFile(destroyedFile, "utf8").catch(ifMissing(""));
      const lines = text.split("\n").filter(Boolean).reverse();
      for (const line of lines) {
        try {
          const destroyed = JSON.parse(line) as DestroyedSandbox;
          if (destroyed.id === id || destroyed.sandbox === id) return destroyed;
        } catch {
          // A line that a crash has torn names nobody.
        }
      }
      return null;
    },

    async clear(id, { everything }) {
      if (everything) return rm(pathFor(id), { recursive: true, force: true });
      for (const name of ["inputs", "work"]) await rm(pathFor(id, name), { recursive: true, force: true });
    },

    lockOf: (id) => lockAt(pathFor(id, ".lock")),
    findInputs: (patterns) => findInputs(folder, patterns),
  };
}

/** What we write to must not lead elsewhere: a folder that somebody else made could hold links to anything of the user's. */
async function findLink(folder: string): Promise<string | null> {
  const names = ["inputs", "work", "outputs", "run.json", "events.log", "sandbox.yaml", ".lock"];
  const logs = ownOutputs.map((name) => join("outputs", name));
  for (const name of ["", ...names, ...logs]) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(ifMissing(null));
    if (stats?.isSymbolicLink()) return path;
  }
  return null;
}

/** A file that another program may have written, and that every command reads. */
async function readRecordFile(file: string): Promise<Uint8Array> {
  const { size } = await stat(file);
  if (size > largestRecord)
    throw new SwarmError("FILE_TOO_LARGE", { place: { file }, bytes: size, limit: largestRecord });
  return readFile(file);
}

async function appendLine(file: string, line: string): Promise<void> {
  await using handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o644);
  await handle.writeFile(line);
}

/** The pieces of both logs in the order of the events; with `follow`, until the task has ended. */
async function* readPieces(
  folder: string,
  { follow }: { readonly follow: boolean },
  signal?: AbortSignal,
): AsyncGenerator<OutputChunk> {
  let at = 0;
  for (;;) {
    signal?.throwIfAborted();
    const text = await readFile(join(folder, "events.log"), "utf8").catch(ifMissing(null));
    if (text === null) return;
    const events = text.split("\n").slice(0, -1).flatMap(parsed);
    // Logs begin anew with each task.
    const start = events.findLastIndex(({ event }) => event === "task-started") + 1;
    at = Math.max(at, start);
    for (const { event, stream, offset, bytes } of events.slice(at)) {
      at += 1;
      if (event === "output" && (stream === "stdout" || stream === "stderr"))
        yield {
          stream,
          bytes: await readAt(join(folder, "outputs", `${stream}.log`), Number(offset), Number(bytes)),
        };
    }
    const isOver = events
      .slice(start)
      .some(({ event }) => ["task-ended", "ended", "destroyed"].includes(event));
    if (!follow || isOver) {
      yield* untold(folder, events.slice(start));
      return;
    }
    await delay(lookAgainMs, undefined, signal && { signal });
  }
}

/** What is in the logs and in no event: a writer that was killed had no time to tell of its last words. */
async function* untold(folder: string, events: readonly ReadEvent[]): AsyncGenerator<OutputChunk> {
  for (const stream of ["stdout", "stderr"] as const) {
    const told = events
      .filter((event) => event.event === "output" && event.stream === stream)
      .map(({ offset, bytes }) => Number(offset) + Number(bytes));
    const end = Math.max(0, ...told);
    const file = join(folder, "outputs", `${stream}.log`);
    const size = await stat(file).then(
      (stats) => stats.size,
      () => 0,
    );
    if (size > end) yield { stream, bytes: await readAt(file, end, size - end) };
  }
}

interface ReadEvent {
  readonly event: string;
  readonly stream?: unknown;
  readonly offset?: unknown;
  readonly bytes?: unknown;
}

function parsed(line: string): ReadEvent[] {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null ? [event as ReadEvent] : [];
  } catch {
    return [{ event: "unreadable" }];
  }
}

async function readAt(file: string, offset: number, length: number): Promise<Uint8Array> {
  await using handle = await open(file, "r");
  const { size } = await handle.stat();
  // The places stand in a file that somebody else may have written.
  if (!(offset >= 0 && length > 0 && offset + length <= size)) return new Uint8Array();
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

function ifMissing<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}

function ifPresent(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
