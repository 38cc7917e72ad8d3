import { setTimeout as delay } from "node:timers/promises";
import type { ProgramEnd } from "./program-end.ts";

const lookAgainMs = 20;
const unkillableMs = 60_000;
const lastResortMs = 3_000;
/**
 * How long to wait, in milliseconds, before killing all processes as root if no process of the agent is
 * listed. Longer than `lastResortMs`, since the helper program may only be slow, because of a busy machine or
 * a fork bomb.
 */
const lastResortUnseenMs = 15_000;
const maxKillerMs = 4_000;
/**
 * How many times in a row to send SIGKILL to all processes. On some kernels, a single kill of all processes
 * misses some, which could then fork.
 */
export const killSignalCount = 10;

/** A running helper program that kills all processes of a user except itself. */
export interface KillerProcess {
  readonly exited: Promise<ProgramEnd>;
  /** Kills the helper program itself. */
  readonly end: () => void;
}

export interface KillProcessesDeps {
  readonly startKiller: () => KillerProcess;
  readonly findProcesses: () => Promise<readonly { readonly pid: number }[]>;
  /**
   * Kills the process with this ID. With −1, kills all processes except the caller and the process with ID 1.
   */
  readonly killProcess: (pid: number) => void;
  /**
   * The time limit of the first helper program that kills the processes, in milliseconds. Doubles for each
   * further helper, up to a maximum, because a busy machine starts programs slowly.
   */
  readonly killerMs: number;
}

/**
 * Kills all processes of a user with `kill -1` in a helper program, so that no process can escape by a fork.
 * When this function returns, no helper is left that could kill later programs.
 */
export async function killAllProcessesOfUser({
  startKiller,
  findProcesses,
  killProcess,
  killerMs,
}: KillProcessesDeps): Promise<void> {
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
    if (isLast) for (let round = 0; round < killSignalCount; round += 1) killProcess(-1);
    await delay(lookAgainMs);
  }
}

/**
 * Returns whether the helper program has sent SIGKILL to all processes. If the helper is late, ends it and
 * waits for its exit, so that it cannot kill later programs.
 */
async function runKiller({ exited, end }: KillerProcess, killerMs: number): Promise<boolean> {
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
