import { hostname } from "node:os";
import type { LockHolder } from "../text/lock-holder.ts";

/** Returns the description of this process that is written into a lock file. */
export function currentProcessAsHolder(command: string, now: Date): LockHolder {
  return { pid: process.pid, host: hostname(), since: now.toISOString(), command };
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
