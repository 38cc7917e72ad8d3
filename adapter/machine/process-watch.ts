import { readFile } from "node:fs/promises";
import { areProcessesExhausted } from "../../src/engine/rules/process-limits.ts";
import { listProcessIds } from "../../src/machine/processes.ts";
import { findAgentProcesses, killAgentProcesses } from "./agent-user.ts";
import { runPeriodically } from "./run-periodically.ts";

/** The current number of processes and threads in the sandbox (`now`), and the limit (`most`). */
export interface ProcessCount {
  readonly now: number;
  readonly most: number;
}

export interface ProcessCounter {
  count(): Promise<ProcessCount>;
  /**
   * Returns how many times the kernel has refused to create a process because of the limit; 0 if the kernel
   * does not report this number.
   */
  refusals(): Promise<number>;
}

/**
 * Called after each count with the highest count of the current turn or check so far. `isMarkedRise` is true
 * when this highest count has passed another eighth of the limit.
 */
export type OnProcessCount = (highest: ProcessCount, isMarkedRise: boolean) => void;

/**
 * The duration of one turn or check, for which the adapter watches the number of processes in the sandbox.
 */
export interface ProcessWatchSpan extends AsyncDisposable {
  /**
   * Aborts, with a reason, when the number of processes stays at the limit. The adapter then kills the
   * agent's processes.
   */
  readonly limitReached: AbortSignal;
  /** Returns an error text if the limit on processes was reached during the turn or check, else null. */
  whyRefused(): Promise<string | null>;
}

export interface ProcessWatch extends Disposable {
  begin(): Promise<ProcessWatchSpan>;
}

const cgroups = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"];
const lookMs = 500;
/** How many consecutive counts must be at the limit before the adapter acts. A shorter peak is harmless. */
const fullLooks = 3;
const parts = 8;

/**
 * Repeatedly counts the processes in the sandbox and calls `onCount`. Kills the agent's processes when they
 * stay at the limit, because gVisor ends the whole sandbox beyond it.
 */
export function watchProcesses(
  source: ProcessCounter | null,
  onCount: OnProcessCount,
  killAll: () => Promise<void> = killAgentProcesses,
): ProcessWatch {
  const spans = new Set<{ full: number; readonly usedUp: AbortController }>();
  let highest = 0;

  const look = async (): Promise<ProcessCount | null> => {
    if (source === null) return null;
    const { now, most } = await source.count();
    const part = (processes: number): number => Math.floor((processes * parts) / most);
    const isMarkedRise = part(now) > part(highest);
    highest = Math.max(highest, now);
    onCount({ now: highest, most }, isMarkedRise);
    return { now, most };
  };
  const stop = runPeriodically(lookMs, async () => {
    if (spans.size === 0) return;
    // Ignores a failed count: the next interval counts again.
    const seen = await look().catch(() => null);
    if (seen === null) return;
    for (const span of spans) {
      span.full = areProcessesExhausted(seen) ? span.full + 1 : 0;
      if (span.full >= fullLooks) span.usedUp.abort(usedUpReason(seen));
    }
  });
  return {
    async begin() {
      const refused = await source?.refusals();
      const span = { full: 0, usedUp: new AbortController() };
      let ending = Promise.resolve();
      span.usedUp.signal.addEventListener("abort", () => {
        ending = killAll();
        ending.catch(() => {});
      });
      highest = 0;
      spans.add(span);
      return {
        limitReached: span.usedUp.signal,
        async whyRefused() {
          const seen = await look().catch(() => null);
          if (seen === null) return null;
          const isRefused =
            (await source?.refusals()) !== refused || areProcessesExhausted({ ...seen, now: highest });
          return isRefused ? usedUpReason(seen) : null;
        },
        async [Symbol.asyncDispose]() {
          spans.delete(span);
          await ending;
        },
      };
    },
    [Symbol.dispose]: stop,
  };
}

function usedUpReason({ most }: ProcessCount): string {
  return `the sandbox reached its limit of ${most} processes`;
}

/**
 * Returns a counter for the container's cgroup if `/sys` shows it. Otherwise returns a counter for the
 * sandbox kernel's process limit of the user, or null if there is no limit.
 */
export async function findProcessCounter(): Promise<ProcessCounter | null> {
  for (const folder of cgroups) {
    const source = sourceIn(folder);
    if (await source.count().catch(() => null)) return source;
  }
  const most = limitOfUser();
  return most === null ? null : { count: () => countOfUser(most), refusals: async () => 0 };
}

function sourceIn(folder: string): ProcessCounter {
  return {
    async count() {
      const [now, most] = await Promise.all([
        numberIn(`${folder}/pids.current`),
        numberIn(`${folder}/pids.max`),
      ]);
      return { now, most };
    },
    async refusals() {
      const text = await readFile(`${folder}/pids.events`, "utf8").catch(() => "");
      return Number(/^max (\d+)$/m.exec(text)?.[1] ?? 0);
    },
  };
}

/** Reads a number from a file. Throws if the file is missing or does not contain a number. */
async function numberIn(file: string): Promise<number> {
  const text = (await readFile(file, "utf8")).trim();
  if (!/^\d+$/.test(text)) throw new Error(`${file} does not contain a number`);
  return Number(text);
}

async function countOfUser(most: number): Promise<ProcessCount> {
  const all = (await listProcessIds()).length;
  // Returns early at the limit: inspecting so many processes one by one would take too long.
  if (areProcessesExhausted({ now: all, most })) return { now: all, most };
  const now = (await findAgentProcesses()).reduce((sum, { threads }) => sum + threads, 0);
  return { now, most };
}

function limitOfUser(): number | null {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly max_user_processes?: { readonly soft?: unknown } };
  };
  const soft = userLimits?.max_user_processes?.soft;
  return typeof soft === "number" ? soft : null;
}
