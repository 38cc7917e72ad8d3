import { readdir, readFile } from "node:fs/promises";
import { areUsedUp } from "../src/domain/process-limits.ts";
import { endAgentProcesses, findAgentProcesses } from "./agent-user.ts";

/** How many processes and threads there are, and how many there may be. */
export interface ProcessCount {
  readonly now: number;
  readonly most: number;
}

/** Where counts come from. */
export interface ProcessSource {
  count(): Promise<ProcessCount>;
  /** How often the kernel has refused a process; always 0 where it does not tell. */
  refusals(): Promise<number>;
}

/** Told of the highest count of the span that is on, and whether it has grown to another part of the limit. */
export type OnCount = (highest: ProcessCount, isCrowd: boolean) => void;

/** What runs in the sandbox between the beginning and the end of this. */
export interface ProcessSpan extends AsyncDisposable {
  /** Aborted with the reason when processes are used up for good; all of the agent's are ended then. */
  readonly usedUp: AbortSignal;
  /** Why what failed may have failed: whether there was a moment without a process left. Null when there was none. */
  whyRefused(): Promise<string | null>;
}

export interface ProcessWatch extends Disposable {
  begin(): Promise<ProcessSpan>;
}

const cgroups = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"];
const lookMs = 500;
/** Who only touches the limit for a moment is not meant. */
const fullLooks = 3;
const parts = 8;

/**
 * Looks again and again at how many processes there are. A kernel refuses more than there may be; gVisor's own ends under
 * them, and the sandbox with it, so the agent's are ended before, and the host is told of the count meanwhile.
 */
export function watchProcesses(
  source: ProcessSource | null,
  onCount: OnCount,
  endAll: () => Promise<void> = endAgentProcesses,
): ProcessWatch {
  const spans = new Set<{ full: number; readonly usedUp: AbortController }>();
  let highest = 0;
  let isLooking = false;

  const look = async (): Promise<ProcessCount | null> => {
    if (source === null) return null;
    const { now, most } = await source.count();
    const part = (processes: number): number => Math.floor((processes * parts) / most);
    const isCrowd = part(now) > part(highest);
    highest = Math.max(highest, now);
    onCount({ now: highest, most }, isCrowd);
    return { now, most };
  };
  const lookAtSpans = async (): Promise<void> => {
    const seen = await look();
    if (seen === null) return;
    for (const span of spans) {
      span.full = areUsedUp(seen) ? span.full + 1 : 0;
      if (span.full >= fullLooks) span.usedUp.abort(whyOf(seen));
    }
  };
  const timer = setInterval(() => {
    if (isLooking || spans.size === 0) return;
    isLooking = true;
    // What cannot be seen now is seen the next time.
    void lookAtSpans()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, lookMs);

  return {
    async begin() {
      const refused = await source?.refusals();
      const span = { full: 0, usedUp: new AbortController() };
      let ending = Promise.resolve();
      span.usedUp.signal.addEventListener("abort", () => {
        ending = endAll();
        ending.catch(() => {});
      });
      highest = 0;
      spans.add(span);
      return {
        usedUp: span.usedUp.signal,
        async whyRefused() {
          const seen = await look().catch(() => null);
          if (seen === null) return null;
          const isRefused = (await source?.refusals()) !== refused || areUsedUp({ ...seen, now: highest });
          return isRefused ? whyOf(seen) : null;
        },
        async [Symbol.asyncDispose]() {
          spans.delete(span);
          await ending;
        },
      };
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function whyOf({ most }: ProcessCount): string {
  return `all ${most} processes that the sandbox may have were in use`;
}

/** The container's group where it is to be seen, else what the sandbox's kernel allows the agent's user; null without a limit. */
export async function findProcessSource(): Promise<ProcessSource | null> {
  for (const folder of cgroups) {
    const source = sourceIn(folder);
    if (await source.count().catch(() => null)) return source;
  }
  const most = limitOfUser();
  return most === null ? null : { count: () => countOfUser(most), refusals: async () => 0 };
}

function sourceIn(folder: string): ProcessSource {
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

/** Throws where there is none, or no limit. */
async function numberIn(file: string): Promise<number> {
  const text = (await readFile(file, "utf8")).trim();
  if (!/^\d+$/.test(text)) throw new Error(`${file} holds no number`);
  return Number(text);
}

async function countOfUser(most: number): Promise<ProcessCount> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).length;
  // Who looks at each of so many comes too late.
  if (areUsedUp({ now: all, most })) return { now: all, most };
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
