import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Finds processes of this machine by name and arguments, because a stored process ID may now belong to
 * another process. Tests the name first, because a hostile process in a sandbox can block a reader of its
 * arguments.
 */
export async function findProcesses(
  name: RegExp,
  isMeant: (argv: readonly string[]) => boolean,
): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const comm = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
      if (!name.test(comm.trim())) return null;
      const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return text !== "" && isMeant(text.split("\0")) ? Number(pid) : null;
    }),
  );
  return found.filter((pid) => pid !== null);
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

/** Returns whether a process exists and is not a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat !== "" && !/\) [ZX] /.test(stat);
}

async function areGone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    const alive = await Promise.all(pids.map(isAlive));
    if (!alive.includes(true)) return true;
    if (performance.now() >= end) return false;
    await delay(20);
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
