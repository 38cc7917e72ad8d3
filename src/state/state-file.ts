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

/** Where the state of a worktree lives. */
export interface StatePlaces {
  /** `.aimi/swarm-state.json`. */
  readonly stateFile: string;
  /** A copy in the git folder, which `git clean -fdx` does not reach. */
  readonly copyFile: string;
  /** Where states go that are replaced: `.aimi/swarms`. */
  readonly archiveFolder: string;
}

/** Reads a state from the bytes of a file, or throws STATE_INVALID. */
export type ParseState = (bytes: Uint8Array, file: string) => Promise<SwarmState>;

/** The state file without any lock; whoever writes must hold one. */
export interface StateFile {
  /** The state, from the copy if the file itself is gone. */
  find(): Promise<SwarmState | null>;
  /** The same, and from which of the two. */
  findWithOrigin(): Promise<{ readonly state: SwarmState; readonly isCopy: boolean } | null>;
  /** The copy, if it is there and valid. */
  findCopy(): Promise<SwarmState | null>;
  /** Writes the state and its copy; `beforeRename` is the last chance to give up. */
  write(state: SwarmState, options?: { beforeRename?: () => Promise<void> }): Promise<void>;
  /** Removes what earlier holders of the lock have written and not renamed: they cannot any more. `confirm` is the lock's. */
  removeUnfinished(confirm: () => Promise<void>): Promise<void>;
  /** Copies whatever is there, valid or not, into the archive; with a broken file also what its copy still has. */
  archive(): Promise<void>;
  readonly places: StatePlaces;
}

/** The state file of one worktree. It remembers what it wrote, and reads again only what somebody else changed. */
export function stateFile(places: StatePlaces, parse: ParseState): StateFile {
  const { stateFile: file, copyFile } = places;
  const serialize = stateSerializer();
  let seen: { state: SwarmState; identity: string } | undefined;
  /** A write of ours that is under way; it ends here without a failure. */
  let writing: Promise<unknown> | undefined;

  const findWithOrigin: StateFile["findWithOrigin"] = async () => {
    let identity = identityAt(file);
    if (writing && seen?.identity !== identity) {
      // Whoever watches the file hears of our write before it has ended, and would read what we know.
      await writing;
      identity = identityAt(file);
    }
    const isCopy = identity === null;
    if (identity !== null && seen?.identity === identity) return { state: seen.state, isCopy };
    const bytes = (await readIfThere(file)) ?? (await readIfThere(copyFile));
    if (bytes === null) return null;
    const state = await parse(bytes, isCopy ? copyFile : file);
    // Kept only if the file did not change while it was read.
    seen = identity !== null && identityAt(file) === identity ? { state, identity } : undefined;
    return { state, isCopy };
  };

  return {
    places,
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
      // The copy first: if either fails, the state file is as it was. It is for `git clean`, not for power failures, so
      // it does without the wait for the disk.
      await writeDurably(copyFile, bytes, { sync: false, beforeRename });
      const written = await writeDurably(file, bytes, { beforeRename }).catch(async (error: unknown) => {
        // What was refused must not come back after `git clean`. A writer that has lost its lock leaves the copy to the next.
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
        // Never over an earlier one: what is archived may be all that is left of something.
        const name = state
          ? join(state.swarmId, `swarm-state-${state.revision}-${now}.json`)
          : `unreadable-${now}.json`;
        const target = join(places.archiveFolder, name);
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, bytes);
        // A copy beside a good file says the same; beside a broken one it is the good one.
        if (state) return;
      }
    },
  };
}

/**
 * A locked write replaces the file, so another writer shows as another inode or time. Inodes are used again, and times of some
 * filesystems are of whole seconds; so the beginning of the text, where the revision is, counts too.
 */
function identityOf({ dev, ino, size, mtimeNs }: BigIntStats, head: Buffer): string {
  return [dev, ino, size, mtimeNs, head.toString("latin1")].join(" ");
}

function identityAt(file: string): string | null {
  try {
    // What lies there may be a pipe, which would be waited for.
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

/** At once: a thread's answer to so short a question takes ten times the processor time, and it is asked often. */
function statIfThere(file: string): BigIntStats | null {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw unreadable(error, file);
  }
}

async function readIfThere(file: string): Promise<Uint8Array | null> {
  const stats = statIfThere(file);
  // Reading a pipe that lies in the file's place would wait for ever.
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
