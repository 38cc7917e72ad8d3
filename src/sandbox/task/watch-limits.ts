import { setTimeout as delay } from "node:timers/promises";
import type { ContainerLimits, Containers } from "../../engine/containers.ts";
import { isGvisorCrash, processLimits } from "../../engine/rules/process-limits.ts";
import { SwarmError } from "../../errors/errors.ts";
import { nextSizeCheckDelayMs } from "../../machine/rules/next-size-check.ts";
import { formatBytes } from "../../text/duration-and-size.ts";
import { shellCommand } from "../command/in-container-scripts.ts";
import { type CommandContainer, runCommand } from "../command/run-command.ts";

interface WatchedSandbox {
  readonly name: string;
  readonly runtime: string;
  readonly limits: Pick<ContainerLimits, "diskBytes" | "files" | "pids">;
  /**
   * The paths in the container where volumes are mounted. The engine does not count the content of volumes as
   * part of the container's disk use.
   */
  readonly mounted: readonly string[];
}

/**
 * The shortest and the longest polling interval, in milliseconds. The faster the disk fills up, the shorter
 * the interval.
 */
const pollMs = { minMs: 250, maxMs: 3_000 };
const firstPollMs = 1_000;
const countEveryMs = 3_000;
const countMs = 20_000;
/**
 * The time in milliseconds for which the number of processes must stay at its limit to count as a violation.
 * Shorter peaks are allowed.
 */
const fullMs = 3_000;

const nothing = { files: 0, mountedBytes: 0 };

/** The clock and the timer with which the watchdog polls. Tests replace both. */
export interface PollingClock {
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const realTime: PollingClock = {
  now: () => performance.now(),
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
};
/**
 * The states in which a container has ended. The watchdog polls the container's state, because with the
 * gVisor runtime the output streams of a program can stay open after the container has ended.
 */
const ended: ReadonlySet<string> = new Set(["exited", "dead"]);

/**
 * A shell script that measures disk use, called as `sh -c <script> sh <maximum> <mounted folder>…`. It prints
 * the number of files in the container, counted up to the maximum, and the size of the mounted folders in
 * KiB.
 */
const measure = `
most=$1; shift
find / "$@" -xdev -print0 2>/dev/null | tr -cd '\\0' | head -c "$most" | wc -c
if [ $# -gt 0 ]; then du -skc -- "$@" 2>/dev/null | tail -n 1 | cut -f 1; else echo 0; fi`;

/**
 * Polls the sandbox's use of resources whose limits the engine does not enforce: the bytes and files on disk.
 * Also ends the wait if the number of processes stays at its limit or the container has ended. Resolves with
 * the reason.
 */
export async function watchSandboxLimits(
  container: CommandContainer & { readonly containers: Pick<Containers, "stats"> },
  { name, runtime, limits, mounted }: WatchedSandbox,
  signal: AbortSignal,
  time: PollingClock = realTime,
): Promise<SwarmError> {
  const { containers, containerId: id } = container;
  const most = processLimits(runtime, limits.pids).exhaustedCount;
  let waitMs = firstPollMs;
  let last = { atMs: time.now(), bytes: 0 };
  let counted = { ...nothing, atMs: Number.NEGATIVE_INFINITY };
  let fullSinceMs: number | null = null;
  for (;;) {
    await time.wait(waitMs, signal);
    const atMs = time.now();
    waitMs = pollMs.maxMs;
    try {
      const facts = await containers.inspect(id, { withDisk: true }, signal);
      if (facts && ended.has(facts.state))
        return isGvisorCrash(runtime, facts.exitCode)
          ? processesExhausted()
          : new SwarmError("CONTAINER_NOT_RUNNING", { id, state: facts.state });
      const layerBytes = facts?.diskBytes ?? 0;
      // Checks the bytes before it counts files, because counting takes long if there are many files.
      if (layerBytes > limits.diskBytes) return diskFull(layerBytes);
      const { pids } = await containers.stats(id, signal);
      fullSinceMs = pids < most ? null : (fullSinceMs ?? atMs);
      if (fullSinceMs !== null && atMs - fullSinceMs >= fullMs) return processesExhausted();
      // Skips counting if the container is at its process limit, because counting needs a process.
      if (fullSinceMs === null && (mounted.length > 0 || atMs - counted.atMs >= countEveryMs))
        counted = { ...(await measureInside(container, mounted, limits.files + 1, signal)), atMs };
      const bytes = layerBytes + counted.mountedBytes;
      if (bytes > limits.diskBytes) return diskFull(bytes);
      if (counted.files > limits.files)
        return new SwarmError("FILES_EXHAUSTED", { name, limit: limits.files });
      const minMs = Math.min(pollMs.maxMs, Math.max(pollMs.minMs, time.now() - atMs));
      waitMs = nextSizeCheckDelayMs(
        {
          grownBytes: bytes - last.bytes,
          inMs: atMs - last.atMs,
          remainingBytes: limits.diskBytes - bytes,
        },
        { ...pollMs, minMs },
      );
      last = { atMs, bytes };
    } catch (error) {
      signal.throwIfAborted();
      // Ignores a poll that failed or took too long: the next poll checks the same limits.
      if (!(error instanceof SwarmError)) throw error;
    }
  }

  function processesExhausted(): SwarmError {
    return new SwarmError("PROCESSES_EXHAUSTED", { name, limit: limits.pids });
  }

  function diskFull(bytes: number): SwarmError {
    const facts = { name, used: formatBytes(bytes), limit: formatBytes(limits.diskBytes) };
    return new SwarmError("DISK_FULL", facts);
  }
}

/**
 * Runs a program in the container that counts the files, and the bytes in volumes, because the engine reports
 * neither. On timeout, `runCommand` also kills that program's processes in the container.
 */
async function measureInside(
  container: CommandContainer,
  mounted: readonly string[],
  maxFiles: number,
  signal: AbortSignal,
): Promise<{ files: number; mountedBytes: number }> {
  const { stdout } = await runCommand(
    container,
    {
      timeoutMs: countMs,
      outputLimit: 200,
      command: shellCommand(measure, String(maxFiles), ...mounted),
    },
    signal,
  );
  const [files = 0, kibibytes = 0] = stdout.split("\n").map(Number);
  return { files, mountedBytes: kibibytes * 1024 };
}
