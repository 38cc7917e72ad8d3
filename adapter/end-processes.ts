import { setTimeout as delay } from "node:timers/promises";
import type { ProgramEnd } from "./program-end.ts";

const lookAgainMs = 20;
const unkillableMs = 60_000;
const lastResortMs = 3_000;
/** The same where no process is seen: the killer is late because the machine is busy, or held by what forks all the time. */
const lastResortUnseenMs = 15_000;
const longestKillerMs = 4_000;
/** Not every kernel does it in one step: blow upon blow leaves no time to multiply. */
export const blows = 10;

/** A program that ends all processes of a user, itself not. */
export interface Killer {
  readonly exited: Promise<ProgramEnd>;
  /** Ends the killer itself. */
  readonly end: () => void;
}

export interface EndingDeps {
  readonly startKiller: () => Killer;
  readonly findProcesses: () => Promise<readonly { readonly pid: number }[]>;
  /** Of -1 it ends all but the caller and the first. */
  readonly endProcess: (pid: number) => void;
  /** So long the first killer may take, and each one after it twice as long: on a busy machine none begins at once. */
  readonly killerMs: number;
}

/**
 * Ends all processes of a user, whatever group or session they hide in. The kernel sends the signal to all of them in one
 * step, so that no fork can win a race; looking confirms it. When this returns, no killer is left that could strike what is
 * started next.
 */
export async function endProcesses({
  startKiller,
  findProcesses,
  endProcess,
  killerMs,
}: EndingDeps): Promise<void> {
  const begunAt = performance.now();
  for (let patienceMs = killerMs; ; patienceMs = Math.min(2 * patienceMs, longestKillerMs)) {
    // Without a look before: who forks all the time is gone from wherever one looks.
    const hasStruck = await strike(startKiller(), patienceMs);
    const left = await findProcesses();
    if (hasStruck && left.length === 0) return;
    const spentMs = performance.now() - begunAt;
    if (spentMs > unkillableMs) throw new Error("Processes of the agent do not end");
    // What is left stands up to its like: the killer found no room, or was itself ended or stopped. That is not to be done to us.
    for (const { pid } of left) endProcess(pid);
    // The last resort ends lines to the host as well, which are made again.
    const isLast = spentMs > (left.length > 0 ? lastResortMs : lastResortUnseenMs);
    if (isLast) for (let blow = 0; blow < blows; blow += 1) endProcess(-1);
    await delay(lookAgainMs);
  }
}

/** Whether the killer came to strike. One that is late is ended, and its end waited for: it may do no harm later. */
async function strike({ exited, end }: Killer, killerMs: number): Promise<boolean> {
  const late = setTimeout(end, killerMs);
  const over = new AbortController();
  const never = delay(unkillableMs, null, { signal: over.signal }).catch(() => null);
  const ended = await Promise.race([exited, never]);
  clearTimeout(late);
  over.abort();
  if (ended === null) throw new Error("The program that ends those of the agent does not end itself");
  // 1: there was nothing to end.
  return ended.kind === "exited" && ended.code <= 1;
}
