import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { nullIfInvalid } from "../ports/state-store.ts";
import { removeLeftovers, writeDurably } from "./durable-write.ts";
import { stateSerializer } from "./serialize-state.ts";

const headBytes = 256;

/** Paths of a worktree's state. */
export interface StatePaths {
  /** The state file, `.aimi/swarm-state.json`. */
  readonly stateFile: string;
  /** A copy in the git folder, which `git clean -fdx` does not reach. */
  readonly copyFile: string;
  /** Folder for replaced states, `.aimi/swarms`. */
  readonly archiveFolder: string;
}

/** Parses and validates the bytes of a state file, or throws STATE_INVALID. */
export type ParseState = (bytes: Uint8Array, file: string) => Promise<SwarmState>;

/** The state file without a lock; the caller must hold the state lock to write. */
export interface StateFile {
  /** Reads the state, from the copy if the file itself is missing. */
  find(): Promise<SwarmState | null>;
  /** The same, and whether it came from the copy. */
  findWithOrigin(): Promise<{ readonly state: SwarmState; readonly isCopy: boolean } | null>;
  /** Reads the copy; null if it is missing or invalid. */
  findCopy(): Promise<SwarmState | null>;
  /**
   * Writes the state and its copy. `beforeRename` runs right before each rename and can still cancel it by
   * throwing.
   */
  write(state: SwarmState, options?: { beforeRename?: () => Promise<void> }): Promise<void>;
  /**
   * Removes the temporary files of earlier holders of the lock, so that they cannot rename them any more.
   * `confirm` is the lock's.
   */
  removeUnfinished(confirm: () => Promise<void>): Promise<void>;
  /** Copies the state file into the archive, valid or not; also the copy if the file is invalid or missing. */
  archive(): Promise<void>;
  readonly paths: StatePaths;
}

/**
 * The state file of one worktree. It caches what it wrote, and reads the file again only after another
 * process changed it.
 */
export function stateFile(paths: StatePaths, parse: ParseState): StateFile {
  const { stateFile: file, copyFile } = paths;
  const serialize = stateSerializer();
  let seen: { state: SwarmState; identity: string } | undefined;
  /** This process's present write; resolves at its end, also after a failure. */
  let writing: Promise<unknown> | undefined;

  const findWithOrigin: StateFile["findWithOrigin"] = async () => {
    let identity = identityAt(file);
    if (writing && seen?.identity !== identity) {
      // A file watch fires before our own write has ended. Wait for its end instead of reading what `write`
      // is about to cache.
      await writing;
      identity = identityAt(file);
    }
    const isCopy = identity === null;
    if (identity !== null && seen?.identity === identity) return { state: seen.state, isCopy };
    const bytes = (await readIfThere(file)) ?? (await readIfThere(copyFile));
    if (bytes === null) return null;
    const state = await parse(bytes, isCopy ? copyFile : file);
    // Cache it only if the file did not change during the read.
    seen = identity !== null && identityAt(file) === identity ? { state, identity } : undefined;
    return { state, isCopy };
  };

  return {
    paths,
    findWithOrigin,
    find: async () => (await findWithOrigin())?.state ?? null,

    async findCopy() {
      const bytes = await readIfThere(copyFile);
      return bytes && parse(bytes, copyFile).catch(nullIfInvalid);
    },

    async write(state, { beforeRename = async () => {} } = {}) {
      const { promise, resolve } = Promise.withResolvers<void>();
      writing = promise;
      using _written = {
        [Symbol.dispose]() {
          writing = undefined;
          resolve();
        },
      };
      for (const path of [file, copyFile]) mkdirSync(dirname(path), { recursive: true });
      const bytes = Buffer.from(serialize(state));
      // The copy first: if either write fails, the state file is unchanged. The copy protects against
      // `git clean`, not against power failures, so it is not flushed.
      await writeDurably(copyFile, bytes, { sync: false, beforeRename });
      const written = await writeDurably(file, bytes, { beforeRename }).catch(async (error: unknown) => {
        // Restore the copy: a state that was not written must not return after `git clean`. A writer that has
        // lost its lock leaves the copy to the next holder.
        const old = await readIfThere(file).catch(() => null);
        if (old) await writeDurably(copyFile, old, { sync: false, beforeRename }).catch(() => undefined);
        throw error;
      });
      seen = { state, identity: identityOf(written, bytes.subarray(0, headBytes)) };
    },

    async removeUnfinished(confirm) {
      await Promise.all([removeLeftovers(file, { confirm }), removeLeftovers(copyFile, { confirm })]);
    },

    async archive() {
      const now = new Date().toISOString().replace(/[:.]/g, "-");
      for (const source of [file, copyFile]) {
        const bytes = await readIfThere(source);
        if (bytes === null) continue;
        const state = await parse(bytes, source).catch(nullIfInvalid);
        // Never overwrite an earlier archive: it may be the only remains of a state.
        const name = state
          ? join(state.swarmId, `swarm-state-${state.revision}-${now}.json`)
          : `unreadable-${now}.json`;
        const target = join(paths.archiveFolder, name);
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, bytes);
        // Beside a valid file the copy is the same; beside an invalid one it is worth archiving.
        if (state) return;
      }
    },
  };
}

/**
 * Identifies a version of the file. Every write replaces the file, so another version has another inode or
 * time. But inode numbers are used again, and some filesystems store whole seconds; so the start of the text,
 * with the revision, counts too.
 */
function identityOf({ dev, ino, size, mtimeNs }: BigIntStats, head: Buffer): string {
  return [dev, ino, size, mtimeNs, head.toString("latin1")].join(" ");
}

function identityAt(file: string): string | null {
  try {
    // O_NONBLOCK, because opening a FIFO at this path would block.
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(handle, { bigint: true });
      const head = Buffer.alloc(headBytes);
      return identityOf(stats, head.subarray(0, stats.isFile() ? readSync(handle, head) : 0));
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR"].includes(code)) return null;
    throw unreadable(error, file);
  }
}

/** Synchronous, because it is called often and the thread pool takes ten times the CPU time for so short a call. */
function statIfThere(file: string): BigIntStats | null {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw unreadable(error, file);
  }
}

async function readIfThere(file: string): Promise<Uint8Array | null> {
  const stats = statIfThere(file);
  // Reading a FIFO at this path would block for ever.
  if (stats && !stats.isFile())
    throw new SwarmError("FILE_FAILED", { file, reason: "it is not a regular file" });
  return stats && ifThere(readFile(file), file);
}

async function ifThere<Result>(result: Promise<Result>, file: string): Promise<Result | null> {
  try {
    return await result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(error, file);
  }
}

function unreadable(error: unknown, file: string): SwarmError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SwarmError("FILE_UNREADABLE", { place: { file }, reason: code ?? message }, error);
}
