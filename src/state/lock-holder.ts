import { hostname } from "node:os";
import type { LockHolder } from "../domain/lock-holder.ts";

/** Describes this process as the holder of a lock. */
export function currentProcessAsHolder(command: string, now: Date): LockHolder {
  return { pid: process.pid, host: hostname(), since: now.toISOString(), command };
}

/** Parses the holder in the content of a lock file. Returns null if the content is incomplete. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const { pid, host, since, command } = JSON.parse(text);
    return { pid: Number(pid), host: String(host), since: String(since), command: String(command) };
  } catch {
    return null;
  }
}

/** The holder to show if a lock is held but its file is unreadable. */
export const unknownHolder: LockHolder = { pid: 0, host: "unknown", since: "unknown", command: "unknown" };
