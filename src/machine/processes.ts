import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { isSystemError } from "../errors/system-errors.ts";
import { pollUntilAnswer } from "./poll-until.ts";

/**
 * Finds processes of this machine by name and arguments, because a stored process ID may now belong to
 * another process. Tests the name first, because a hostile process in a sandbox can block a reader of its
 * arguments.
 */
export async function findProcesses(
  name: RegExp,
  isMeant: (argv: readonly string[]) => boolean,
): Promise<number[]> {
  const pids = await listProcessIds();
  const found = await Promise.all(
    pids.map(async (pid) => {
      const comm = await readProcFile(`/proc/${pid}/comm`);
      if (!name.test(comm.trim())) return null;
      const text = await readProcFile(`/proc/${pid}/cmdline`);
      return text !== "" && isMeant(text.split("\0")) ? Number(pid) : null;
    }),
  );
  return found.filter((pid) => pid !== null);
}

/** Lists the IDs of all processes that this process can see. */
export async function listProcessIds(): Promise<string[]> {
  return (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
}

/** Reads a file of the kernel about a process; returns an empty text if the process has ended. */
export function readProcFile(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

/**
 * Sends SIGTERM to processes, and SIGKILL to those that still run after `graceMs`. Resolves when the
 * processes have ended, at the latest 5 seconds after SIGKILL.
 */
export async function endProcesses(pids: readonly number[], graceMs: number): Promise<void> {
  for (const pid of pids) sendSignal(pid, "SIGTERM");
  if (await areGone(pids, graceMs)) return;
  for (const pid of pids) sendSignal(pid, "SIGKILL");
  await areGone(pids, 5_000);
}

/** Returns whether a process of this machine exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Only this error says that there is no such process: another user's process exists, too.
    if (isSystemError(error, "ESRCH")) return false;
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // This system has no `/proc`, or the process has just ended.
    return true;
  }
}

async function areGone(pids: readonly number[], waitMs: number): Promise<boolean> {
  const ask = async (): Promise<true | undefined> => (pids.some(isAlive) ? undefined : true);
  return (await pollUntilAnswer(ask, { waitMs, everyMs: 20 })) === true;
}

/** Sends a signal to a process, or to a process group if `pid` is negative. Does nothing if it no longer exists. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isSystemError(error, "ESRCH")) throw error;
  }
}
