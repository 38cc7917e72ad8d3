import { fstatSync, ftruncateSync, statSync, writeSync } from "node:fs";
import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { tryLock } from "fs-native-extensions";
import { SwarmError } from "../../errors/errors.ts";
import { ifMissing } from "../../errors/system-errors.ts";
import { describeHolder } from "../../text/lock-holder.ts";
import { once } from "../../text/once.ts";
import { pollUntilAnswer } from "../poll-until.ts";
import type { Lock, LockHolder } from "./lock.ts";
import { currentProcessAsHolder, parseHolder, unknownHolder } from "./lock-holder.ts";

/**
 * Creates a lock that the kernel keeps on an open file, and releases when the holding process ends or
 * crashes. The lock file is never removed, and contains the last holder.
 */
export function kernelLock(file: string, command: string): Lock {
  return {
    async acquire(waitMs, signal) {
      const handle = await acquireKernelLock(file, { waitMs, shared: false }, signal);
      if (!handle) {
        throw new SwarmError("LOCK_TIMEOUT", {
          file,
          waitedMs: waitMs,
          holder: describeHolder(await readHolder(file)),
        });
      }
      await using undo = new AsyncDisposableStack();
      undo.use(handle);
      ftruncateSync(handle.fd, 0);
      writeSync(handle.fd, `${JSON.stringify(currentProcessAsHolder(command))}\n`);
      undo.move();
      return {
        async confirm() {
          if (!isSameFile(handle, file)) throw new SwarmError("LOCK_LOST", { file });
        },
        [Symbol.asyncDispose]: once(() => handle.close()),
      };
    },

    async holder() {
      await using handle = await openIfThere(file);
      // Try with a shared lock, which does not disturb other processes that also only look for the holder.
      if (!handle || tryLock(handle.fd, { shared: true })) return null;
      return parseHolder(await handle.readFile("utf8")) ?? unknownHolder;
    },
  };
}

/**
 * Tries to acquire the lock until it succeeds; returns undefined after `waitMs`. Opens the file once for all
 * tries, because each opening would take CPU time from the holder of the lock.
 */
export async function acquireKernelLock(
  file: string,
  { waitMs, shared }: { readonly waitMs: number; readonly shared: boolean },
  signal: AbortSignal | undefined,
): Promise<FileHandle | undefined> {
  let handle = await openLockFile(file);
  let isHeld = false;
  try {
    await pollUntilAnswer(
      async () => {
        if (!tryLock(handle.fd, { shared })) return undefined;
        // Check that the path still leads to the locked file. Otherwise there would be two holders if the
        // file was deleted and created again.
        isHeld = isSameFile(handle, file);
        if (isHeld) return true;
        await handle.close();
        handle = await openLockFile(file);
        return undefined;
      },
      { waitMs },
      signal,
    );
  } finally {
    if (!isHeld) await handle.close();
  }
  return isHeld ? handle : undefined;
}

async function openLockFile(file: string): Promise<FileHandle> {
  const present = await open(file, "a+").catch(ifMissing(null));
  if (present) return present;
  await mkdir(dirname(file), { recursive: true });
  return open(file, "a+");
}

/**
 * Returns whether `file` is still the path of the file that `handle` opened. The call is synchronous, because
 * an asynchronous call would take ten times the CPU time.
 */
function isSameFile(handle: FileHandle, file: string): boolean {
  const ours = fstatSync(handle.fd, { bigint: true });
  try {
    const theirs = statSync(file, { bigint: true });
    return ours.ino === theirs.ino && ours.dev === theirs.dev;
  } catch {
    return false;
  }
}

async function readHolder(file: string): Promise<LockHolder | null> {
  await using handle = await openIfThere(file);
  return handle && parseHolder(await handle.readFile("utf8"));
}

async function openIfThere(file: string): Promise<FileHandle | null> {
  // Use O_NONBLOCK, because to open a FIFO at this path would block.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(ifMissing(null));
  if (handle === null || (await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new SwarmError("FILE_FAILED", { file, reason: "the file is not a regular file" });
}
