import { setTimeout as delay } from "node:timers/promises";
import type { ProgramEnd } from "./program-end.ts";

const lookAgainMs = 20;
const unkillableMs = 60_000;
const lastResortMs = 3_000;
/** Replaces `lastResortMs` while no process is visible: the machine is busy, or a fork bomb delays the killer. */
const lastResortUnseenMs = 15_000;
const maxKillerMs = 4_000;
/**
 * The number of kill signals in a row: not every kernel kills all processes in one step, and a surviving process
 * could fork.
 */
export const killRounds = 10;

/** A running program that kills all processes of a user except itself. */
export interface Killer {
  readonly exited: Promise<ProgramEnd>;
  /** Ends this killer. */
  readonly end: () => void;
}

export interface KillDeps {
  readonly startKiller: () => Killer;
  readonly findProcesses: () => Promise<readonly { readonly pid: number }[]>;
  /** Kills the process with this ID; −1 kills all processes except the caller and the process with ID 1. */
  readonly killProcess: (pid: number) => void;
  /**
   * The time limit of the first killer, in milliseconds. The limit doubles for each next killer, since a busy machine
   * starts programs late.
   */
  readonly killerMs: number;
}

/**
 * Kills all processes of a user, whatever their process groups and sessions. `kill -1` signals all of them in one
 * step, so that no fork can win the race; the process list then confirms that none is left. When this function
 * returns, no killer runs that could kill programs that start later.
 */
export async function killProcesses({
  startKiller,
  findProcesses,
  killProcess,
  killerMs,
}: KillDeps): Promise<void> {
  const begunAt = performance.now();
  for (let patienceMs = killerMs; ; patienceMs = Math.min(2 * patienceMs, maxKillerMs)) {
    // Kills before it lists the processes, because a list easily misses a process that forks all the time.
    const hasKilled = await runKiller(startKiller(), patienceMs);
    const left = await findProcesses();
    if (hasKilled && left.length === 0) return;
    const spentMs = performance.now() - begunAt;
    if (spentMs > unkillableMs) throw new Error("Processes of the agent still run after SIGKILL");
    // Also kills each remaining process directly, as root: such a process can exhaust the process limit or stop the
    // killer, but it cannot stop root.
    for (const { pid } of left) killProcess(pid);
    // As a last resort, root kills all processes in the sandbox, including the host's `attach` processes, which the host
    // starts again.
    const isLast = spentMs > (left.length > 0 ? lastResortMs : lastResortUnseenMs);
    if (isLast) for (let round = 0; round < killRounds; round += 1) killProcess(-1);
    await delay(lookAgainMs);
  }
}

/**
 * Returns whether the killer has signalled all processes. Ends a late killer and waits for its exit, so that it kills
 * no program that starts later.
 */
async function runKiller({ exited, end }: Killer, killerMs: number): Promise<boolean> {
  const late = setTimeout(end, killerMs);
  const over = new AbortController();
  const never = delay(unkillableMs, null, { signal: over.signal }).catch(() => null);
  const ended = await Promise.race([exited, never]);
  clearTimeout(late);
  over.abort();
  if (ended === null) throw new Error("The program that kills the agent's processes does not exit");
  // The killer exits with 1 if there was nothing to kill.
  return ended.kind === "exited" && ended.code <= 1;
}
