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
import writeFileAtomic from "write-file-atomic";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/lock.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import { removeTree } from "../machine/remove-tree.ts";
import { findSandboxInputFiles } from "./files/find-inputs.ts";
import { replaceTaskOutputs, swarmOutputNames } from "./files/replace-task-outputs.ts";
import { parseSandboxRecord } from "./parse-sandbox-record.ts";
import type { ComputeRecordSeal } from "./record-seal.ts";
import type { DestroyedSandbox, SandboxFolders } from "./sandbox-folders-port.ts";
import { openOutputLog } from "./task/output-log.ts";
import { readOutputPieces } from "./task/read-output-pieces.ts";

export interface SandboxFoldersDeps {
  /** The repository's root folder, or the user's current folder outside of a repository. */
  readonly root: string;
  /** The folder to which the glob patterns of input files are relative. */
  readonly folder: string;
  /** Computes a record's seal, which proves that swarm wrote the record for this user. */
  readonly seal: ComputeRecordSeal;
  readonly lockAt: (file: string) => Lock;
  readonly clock: () => Date;
}

const idForm = /^[A-Za-z0-9_-]{8}$/;
/**
 * The maximum size of a sandbox's record in bytes. The largest record that swarm writes is several times
 * smaller: it contains two hundred paths of 4096 characters, each of them twice.
 */
const largestRecord = 8 * 1024 * 1024;
const destroyMark = ".destroying";
const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;

/** Gives access to the sandboxes in the folder `.aimi/sandboxes/` below `root`. */
export function openSandboxFolders({
  root,
  folder,
  seal,
  lockAt,
  clock,
}: SandboxFoldersDeps): SandboxFolders {
  const all = join(root, ".aimi", "sandboxes");
  const pathFor = (id: string, ...names: string[]): string => join(all, id, ...names);
  const destroyedFile = join(all, "destroyed.ndjson");
  const logEvent: SandboxFolders["logEvent"] = (id, event) =>
    appendLine(pathFor(id, "events.log"), `${JSON.stringify({ time: clock().toISOString(), ...event })}\n`);

  const readRecord = async (id: string): Promise<SandboxRecord | null> => {
    if (!idForm.test(id)) return null;
    const file = pathFor(id, "run.json");
    const bytes = await readRecordFile(file).catch(ifMissing(null));
    if (bytes === null) return null;
    const link = await findLink(pathFor(id));
    if (link)
      throw new SwarmError("FILE_FAILED", {
        file: link,
        reason: "the path is a symbolic link, so swarm does not use this sandbox",
      });
    const { seal: found, ...record } = await parseSandboxRecord(bytes, file);
    // Refuse a record without a valid seal. The record may come from an untrusted repository, whose author
    // could name any container and engine in it.
    const isOurs = record.id === id && found !== undefined && found === (await seal(JSON.stringify(record)));
    if (!isOurs) throw new SwarmError("SANDBOX_FOREIGN", { id, folder: pathFor(id) });
    return record;
  };

  return {
    root: all,
    pathFor,
    logEvent,

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
      if (!(await resolvesInsideFolder(root, all)))
        throw new SwarmError("FILE_FAILED", {
          file: ".aimi/sandboxes",
          reason: "a link in this path points outside the project folder",
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
      const sealed: SandboxRecord = { ...record, seal: await seal(JSON.stringify(record)) };
      await writeFileAtomic(pathFor(record.id, "run.json"), `${JSON.stringify(sealed, null, 2)}\n`);
    },

    openOutput: (id) => openOutputLog(pathFor(id, "outputs"), (event) => logEvent(id, event)),

    readOutput: (id, options, signal) => readOutputPieces(pathFor(id), options, signal),

    async writeSummary(summary) {
      const file = pathFor(summary.sandboxId, "outputs", "summary.json");
      await writeFileAtomic(file, `${JSON.stringify(summary, null, 2)}\n`);
    },

    async replaceWork(id, collected) {
      await removeTree(pathFor(id, "work"));
      await rename(collected, pathFor(id, "work"));
    },

    replaceOutputs: (id, collected, expected) =>
      replaceTaskOutputs(pathFor(id, "outputs"), collected, expected),

    async markDestroying(id) {
      const mark = pathFor(id, destroyMark);
      await writeFile(mark, "", { flag: "wx" }).catch(ifPresent);
      return { [Symbol.asyncDispose]: () => rm(mark, { force: true }) };
    },

    isBeingDestroyed: async (id) => (await lstat(pathFor(id, destroyMark)).catch(ifMissing(null))) !== null,

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
          // Skip an incomplete line, which a crash has left.
        }
      }
      return null;
    },

    async clear(id, { everything }) {
      if (everything) return removeTree(pathFor(id));
      for (const name of ["inputs", "work"]) await removeTree(pathFor(id, name));
    },

    lockOf: (id) => lockAt(pathFor(id, ".lock")),
    findInputs: (patterns) => findSandboxInputFiles(folder, patterns),
  };
}

/**
 * Returns the path of a symbolic link among the files that swarm writes in a sandbox's folder, or null. The
 * folder may come from an untrusted author, whose link could lead to any file of the user.
 */
async function findLink(folder: string): Promise<string | null> {
  const names = ["inputs", "work", "outputs", "run.json", "events.log", "sandbox.yaml", ".lock"];
  const logs = swarmOutputNames.map((name) => join("outputs", name));
  for (const name of ["", ...names, ...logs]) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(ifMissing(null));
    if (stats?.isSymbolicLink()) return path;
  }
  return null;
}

/**
 * Reads the file of a sandbox's record; throws if the file is too large, because another program may have
 * written it.
 */
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

function ifMissing<Value>(value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}

function ifPresent(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
