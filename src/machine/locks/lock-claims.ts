import { randomBytes } from "node:crypto";
import { fstatSync, readdirSync, statSync } from "node:fs";
import { type FileHandle, link, mkdir, open, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifMissing, ifSystemError } from "../../errors/system-errors.ts";

/**
 * One process's claim on a lock, stored as a numbered file. Of all claims on a lock, only the newest counts.
 */
export interface LockClaim {
  /**
   * The open handle of the claim file. If another process creates a new file with the same name, a write
   * through this handle does not change the new file.
   */
  readonly handle: FileHandle;
  /** Returns whether the file of this claim still exists and no newer claim does. */
  isNewest(): boolean;
}

export interface NewestLockClaim {
  readonly number: number;
  readonly path: string;
  /** The time at which the holder last renewed its claim, in milliseconds since 1970. */
  readonly renewedAtMs: number;
}

/**
 * The claims on a lock, which are numbered files such as `state.lock.17`; only the claim with the highest
 * number counts. A process creates a claim with `link()`, which succeeds for only one process on every
 * filesystem, and then removes the older claims.
 */
export interface LockClaims {
  newest(): NewestLockClaim | null;
  /**
   * Creates the claim whose number follows that of `looked`, and writes `text` into the claim's file. Returns
   * undefined if another process created this claim first.
   */
  makeAfter(looked: NewestLockClaim | null, text: string): Promise<LockClaim | undefined>;
}

/** Gives access to the claims on a lock. The claim files are in the same folder as the lock's file. */
export function openLockClaims(file: string): LockClaims {
  const [folder, prefix] = [dirname(file), `${basename(file)}.`];
  const pathOf = (number: number): string => join(folder, `${prefix}${number}`);

  /**
   * Lists the numbers of the existing claims in ascending order, and the endings of the names of temporary
   * files.
   */
  const list = (): { readonly numbers: number[]; readonly temporary: string[] } => {
    const endings = namesIn(folder)
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    return {
      numbers: endings
        .filter((ending) => /^[1-9]\d{0,14}$/.test(ending))
        .map(Number)
        .sort((a, b) => a - b),
      temporary: endings.filter((ending) => /^[0-9a-f]{18}\.tmp$/.test(ending)),
    };
  };
  const newestNumber = (): number => list().numbers.at(-1) ?? 0;

  /**
   * Removes the claims older than number `number`, the oldest first, and stops at the first failure. Because
   * of this order, a claim that still exists and has the highest number is the newest.
   */
  const removeOlder = async (number: number): Promise<void> => {
    const { numbers, temporary } = list();
    const older = numbers.filter((other) => other < number).map(String);
    for (const ending of [...older, ...temporary])
      await unlink(join(folder, `${prefix}${ending}`)).catch(ifMissing(undefined));
  };

  return {
    newest() {
      const number = newestNumber();
      if (number === 0) return null;
      const path = pathOf(number);
      // A newer claim may have removed the file meanwhile. Then the removed claim counts as stale, and
      // `makeAfter` will fail.
      const renewedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return { number, path, renewedAtMs };
    },

    async makeAfter(looked, text) {
      await mkdir(folder, { recursive: true });
      const number = (looked?.number ?? 0) + 1;
      const temporary = `${file}.${randomBytes(9).toString("hex")}.tmp`;
      await using undo = new AsyncDisposableStack();
      const handle = undo.use(await open(temporary, "wx", 0o644));
      try {
        await handle.writeFile(text);
        // The file is complete before it gets its name by the link. The link fails if the name is taken, or if
        // another process has already removed the temporary file.
        const isLinked = link(temporary, pathOf(number)).then(
          () => true,
          ifSystemError(false, "EEXIST", "ENOENT"),
        );
        if (!(await isLinked)) return undefined;
      } finally {
        await unlink(temporary).catch(() => undefined);
      }
      const isNewest = (): boolean => newestNumber() === number && isNamed(handle);
      // A process that was suspended before `link` may have created a number that existed before and was
      // removed long ago.
      if (!isNewest()) return undefined;
      await removeOlder(number).catch(() => undefined);
      undo.move();
      return { handle, isNewest };
    },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ifMissing([])(error);
  }
}

function isNamed({ fd }: FileHandle): boolean {
  try {
    return fstatSync(fd).nlink > 0;
  } catch {
    // On a network filesystem, `fstat` fails if the file was removed.
    return false;
  }
}
