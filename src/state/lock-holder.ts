import { hostname } from "node:os";
import type { LockHolder } from "../domain/lock-holder.ts";

/** This process, as it tells others when it holds a lock. */
export function thisHolder(command: string, now: Date): LockHolder {
  return { pid: process.pid, host: hostname(), since: now.toISOString(), command };
}

/** What a lock file says of its holder; it may be torn, since it is information only. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const { pid, host, since, command } = JSON.parse(text);
    return { pid: Number(pid), host: String(host), since: String(since), command: String(command) };
  } catch {
    return null;
  }
}

/** A lock that is held by somebody whose words cannot be read. */
export const unknownHolder: LockHolder = { pid: 0, host: "unknown", since: "unknown", command: "unknown" };
