import { hostname } from "node:os";
import type { LockHolder } from "../domain/lock-holder.ts";

/** This process as the holder of a lock. */
export function thisHolder(command: string, now: Date): LockHolder {
  return { pid: process.pid, host: hostname(), since: now.toISOString(), command };
}

/** The holder that a lock file names; null for torn text, which is harmless because this is for display only. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const { pid, host, since, command } = JSON.parse(text);
    return { pid: Number(pid), host: String(host), since: String(since), command: String(command) };
  } catch {
    return null;
  }
}

/** The holder of a held lock whose file is unreadable. */
export const unknownHolder: LockHolder = { pid: 0, host: "unknown", since: "unknown", command: "unknown" };
