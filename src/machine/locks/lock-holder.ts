import { lstatSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { LockHolder } from "../../text/lock-holder.ts";
import { isAlive } from "../processes.ts";
import { readSmallFile } from "../read-small-file.ts";

const maxBytes = 64 * 1024;

/** Returns the description of this process that is written into a lock file. */
export function currentProcessAsHolder(command: string): LockHolder {
  return { pid: process.pid, host: hostname(), since: new Date().toISOString(), command };
}

/** Reads the description of the holder from a lock file. Returns null if the description is incomplete. */
export function readHolderFrom(file: string): LockHolder | null {
  return parseHolder(readSmallFile(file, maxBytes) ?? "");
}

/** Parses the description of the holder in a lock file. Returns null if the description is incomplete. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const { pid, host, since, command } = JSON.parse(text);
    return { pid: Number(pid), host: String(host), since: String(since), command: String(command) };
  } catch {
    return null;
  }
}

/** The holder to show in messages if a lock is held but the lock file does not say by which process. */
export const unknownHolder: LockHolder = { pid: 0, host: "unknown", since: "unknown", command: "unknown" };

/**
 * Finds the process that holds a kernel lock, from `/proc/locks` and without loading the native lock module.
 * Returns null if no process holds the lock. Returns undefined if it is uncertain; the caller must then try
 * to acquire the lock.
 */
export function findKernelLockHolder(file: string): LockHolder | null | undefined {
  try {
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (!stats) return null;
    const holder = readHolderFrom(file);
    if (!holder || !(holder.pid > 0) || holder.host !== hostname()) return undefined;
    if (isLocked(stats)) return holder;
    return isAlive(holder.pid) ? undefined : null;
  } catch {
    return undefined;
  }
}

/**
 * Returns whether `/proc/locks` lists a lock on the given file. A line there looks like `1: OFDLCK ADVISORY
 * WRITE -1 08:01:1234 0 EOF`.
 */
function isLocked({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): boolean {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  const device = [major, minor].map((part) => part.toString(16).padStart(2, "0")).join(":");
  const inode = `${device}:${ino}`;
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .some((line) => {
      const fields = line.split(/\s+/);
      return fields.includes("WRITE") && fields.includes(inode) && !fields.includes("->");
    });
}
