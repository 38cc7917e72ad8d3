import { constants } from "node:fs";
import { chmod, copyFile, lstat, mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { ifMissing, ifSystemError } from "../errors/system-errors.ts";
import { writeFileDurably } from "../machine/durable-write.ts";
import type { Lock } from "../machine/locks/lock.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import { removeTree } from "../machine/remove-tree.ts";
import { findSandboxInputFiles } from "./files/find-inputs.ts";
import type { DestroyedSandbox, SandboxFolders } from "./sandbox-folders-port.ts";
import { type ComputeRecordSeal, sandboxRecords } from "./sandbox-records.ts";
import { openOutputLog } from "./task/output-log.ts";
import { readOutputPieces } from "./task/read-output-pieces.ts";

interface SandboxFoldersDeps {
  /** The repository's root folder, or the user's current folder outside of a repository. */
  readonly root: string;
  /** The folder to which the glob patterns of input files are relative. */
  readonly folder: string;
  /** Computes a record's seal, which proves that swarm wrote the record for this user. */
  readonly seal: ComputeRecordSeal;
  readonly lockAt: (file: string) => Lock;
  readonly clock: () => Date;
}

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

  return {
    ...sandboxRecords(all, seal),
    root: all,
    pathFor,
    logEvent,

    async make(id, { spec, inputs }) {
      if (!(await resolvesInsideFolder(root, all)))
        throw new SwarmError("FILE_FAILED", {
          file: ".aimi/sandboxes",
          reason: "a link in this path points outside the project folder",
        });
      await mkdir(all, { recursive: true });
      await writeFile(join(all, ".gitignore"), "*\n", { flag: "wx" }).catch(
        ifSystemError(undefined, "EEXIST"),
      );
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

    openOutput: (id) => openOutputLog(pathFor(id, "outputs"), (event) => logEvent(id, event)),

    readOutput: (id, options, signal) => readOutputPieces(pathFor(id), options, signal),

    async writeSummary(summary) {
      const file = pathFor(summary.sandboxId, "outputs", "summary.json");
      await writeFileDurably(file, `${JSON.stringify(summary, null, 2)}\n`, { keepAttributes: true });
    },

    async markDestroying(id) {
      const mark = pathFor(id, destroyMark);
      await writeFile(mark, "", { flag: "wx" }).catch(ifSystemError(undefined, "EEXIST"));
      return { [Symbol.asyncDispose]: () => rm(mark, { force: true }) };
    },

    isBeingDestroyed: async (id) => (await lstat(pathFor(id, destroyMark)).catch(ifMissing(null))) !== null,

    addDestroyed: (line) => appendLine(destroyedFile, `${JSON.stringify(line)}\n`),
    findDestroyed: (id) => findDestroyed(destroyedFile, id),

    async clear(id, { everything }) {
      if (everything) return removeTree(pathFor(id));
      for (const name of ["inputs", "work"]) await removeTree(pathFor(id, name));
    },

    lockOf: (id) => lockAt(pathFor(id, ".lock")),
    findInputs: (patterns) => findSandboxInputFiles(folder, patterns),
  };
}

async function findDestroyed(file: string, id: string): Promise<DestroyedSandbox | null> {
  const text = await readFile(file, "utf8").catch(ifMissing(""));
  for (const line of text.split("\n").filter(Boolean).reverse()) {
    try {
      const destroyed = JSON.parse(line) as DestroyedSandbox;
      if (destroyed.id === id || destroyed.sandbox === id) return destroyed;
    } catch {
      // Skip an incomplete line, which a crash has left.
    }
  }
  return null;
}

async function appendLine(file: string, line: string): Promise<void> {
  await using handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o644);
  await handle.writeFile(line);
}
