import { lstatSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { LockHolder } from "../text/lock-holder.ts";
import { parseHolder } from "./lock-holder.ts";
import { readSmallFile } from "./read-small-file.ts";

const maxBytes = 64 * 1024;

/**
 * Finds the process that holds a kernel lock, from `/proc/locks` and without loading the native lock module.
 * Returns null if no process holds the lock. Returns undefined if it is uncertain; the caller must then try
 * to acquire the lock.
 */
export function findKernelLockHolder(file: string): LockHolder | null | undefined {
  try {
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (!stats) return null;
    const holder = parseHolder(readSmallFile(file, maxBytes) ?? "");
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
