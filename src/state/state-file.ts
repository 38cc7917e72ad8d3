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
import { SwarmError } from "../errors/errors.ts";
import { ifMissing, isSystemError } from "../errors/system-errors.ts";
import { nullIfStateInvalid, parseState } from "./parse-state.ts";
import type { SwarmState } from "./rules/swarm-state.ts";
import { stateSerializer } from "./serialize-state.ts";
import { removeUnfinishedWrites, writeStateDurably } from "./write-state-durably.ts";

const headBytes = 256;

/** The paths of the files that contain the swarm state of a worktree. */
export interface StatePaths {
  /** The path of the state file, `.aimi/swarm-state.json`. */
  readonly stateFile: string;
  /**
   * The path of the backup copy of the state. The copy is in the git folder, because `git clean -fdx` does
   * not remove files there.
   */
  readonly copyFile: string;
  /** The folder to which the state file is copied before a new state replaces it, `.aimi/swarms`. */
  readonly archiveFolder: string;
}

/**
 * Access to the state file, without locking it. To write, the caller must hold the lock of the state file.
 */
export interface StateFile {
  /**
   * Reads the state from the state file, or from its backup copy if the state file is missing. Returns null
   * if both are missing.
   */
  find(): Promise<SwarmState | null>;
  /** Reads the state like `find`, and also returns whether the state was read from the backup copy. */
  findWithOrigin(): Promise<{ readonly state: SwarmState; readonly isCopy: boolean } | null>;
  /** Reads the state from the backup copy; returns null if the copy is missing or invalid. */
  findCopy(): Promise<SwarmState | null>;
  /**
   * Writes the state file and its backup copy, each by a temporary file that replaces the old file. Calls
   * `beforeRename` directly before each replacement; if it throws, the old file stays.
   */
  write(state: SwarmState, beforeRename?: () => Promise<void>): Promise<void>;
  /**
   * Removes the temporary files that earlier holders of the lock left, so that a suspended holder cannot
   * rename its temporary file later. `confirm` must be the `confirm` method of the lock that the caller
   * holds.
   */
  removeUnfinished(confirm: () => Promise<void>): Promise<void>;
  /**
   * Copies the state file into the archive folder, even if the file is invalid. If the state file is invalid
   * or missing, also copies the backup copy there.
   */
  archive(): Promise<void>;
  readonly paths: StatePaths;
}

/**
 * Gives access to the state file of one worktree. Caches the state, and reads the file again only after
 * another process has changed it.
 */
export function stateFile(paths: StatePaths, parse: typeof parseState = parseState): StateFile {
  const { stateFile: file, copyFile } = paths;
  const serialize = stateSerializer();
  let seen: { state: SwarmState; identity: string } | undefined;
  /**
   * The write that this process is doing now; undefined if there is none. The promise resolves when the write
   * ends, even if it fails.
   */
  let writing: Promise<unknown> | undefined;

  const findWithOrigin: StateFile["findWithOrigin"] = async () => {
    let identity = identityAt(file);
    if (writing && seen?.identity !== identity) {
      // A file watch fires before this process's write has ended. Wait for that write instead of reading the
      // file, because `write` is about to cache the state.
      await writing;
      identity = identityAt(file);
    }
    const isCopy = identity === null;
    if (identity !== null && seen?.identity === identity) return { state: seen.state, isCopy };
    const bytes = (await readIfThere(file)) ?? (await readIfThere(copyFile));
    if (bytes === null) return null;
    const state = await parse(bytes, isCopy ? copyFile : file);
    // Cache the state only if the file did not change during the read.
    seen = identity !== null && identityAt(file) === identity ? { state, identity } : undefined;
    return { state, isCopy };
  };

  return {
    paths,
    findWithOrigin,
    find: async () => (await findWithOrigin())?.state ?? null,

    async findCopy() {
      const bytes = await readIfThere(copyFile);
      return bytes && parse(bytes, copyFile).catch(nullIfStateInvalid);
    },

    async write(state, beforeRename = async () => {}) {
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
      // Write the copy first: if either write fails, the state file is unchanged. Do not flush the copy to
      // disk, because it protects against `git clean`, not against power failures.
      await writeStateDurably(copyFile, bytes, { sync: false, beforeRename });
      const written = await writeStateDurably(file, bytes, { beforeRename }).catch(async (error: unknown) => {
        // Restore the copy, because a state that was not written must not return after `git clean`. A writer
        // that has lost the lock leaves the copy to the next holder.
        const old = await readIfThere(file).catch(() => null);
        if (old) await writeStateDurably(copyFile, old, { sync: false, beforeRename }).catch(() => undefined);
        throw error;
      });
      seen = { state, identity: identityOf(written, bytes.subarray(0, headBytes)) };
    },

    async removeUnfinished(confirm) {
      await Promise.all([file, copyFile].map((path) => removeUnfinishedWrites(path, confirm)));
    },

    async archive() {
      const now = new Date().toISOString().replace(/[:.]/g, "-");
      for (const source of [file, copyFile]) {
        const bytes = await readIfThere(source);
        if (bytes === null) continue;
        const state = await parse(bytes, source).catch(nullIfStateInvalid);
        // Choose a new name, to never overwrite an earlier archive: it may be all that remains of a state.
        const name = state
          ? join(state.swarmId, `swarm-state-${state.revision}-${now}.json`)
          : `unreadable-${now}.json`;
        const target = join(paths.archiveFolder, name);
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, bytes);
        // If the state file is valid, the copy is the same. If not, archive the copy, too.
        if (state) return;
      }
    },
  };
}

/**
 * Returns a string that changes with each write of the state file. It contains the start of the text, which
 * has the revision number, because inode numbers are reused and some filesystems store times only in whole
 * seconds.
 */
function identityOf({ dev, ino, size, mtimeNs }: BigIntStats, head: Buffer): string {
  return [dev, ino, size, mtimeNs, head.toString("latin1")].join(" ");
}

function identityAt(file: string): string | null {
  try {
    // Use O_NONBLOCK, because to open a FIFO at this path would block.
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(handle, { bigint: true });
      const head = Buffer.alloc(headBytes);
      return identityOf(stats, head.subarray(0, stats.isFile() ? readSync(handle, head) : 0));
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (isSystemError(error, "ENOENT", "ENOTDIR")) return null;
    throw unreadable(error, file);
  }
}

async function readIfThere(file: string): Promise<Uint8Array | null> {
  try {
    // The call is synchronous, because it is frequent, and an asynchronous call would take ten times the CPU
    // time.
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats) return null;
    if (stats.isFile()) return await readFile(file).catch(ifMissing(null));
  } catch (error) {
    throw unreadable(error, file);
  }
  // To read a FIFO at this path would block for ever.
  throw new SwarmError("FILE_FAILED", { file, reason: "the file is not a regular file" });
}

function unreadable(error: unknown, file: string): SwarmError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SwarmError("FILE_UNREADABLE", { place: { file }, reason: code ?? message }, error);
}
