import { setTimeout as delay } from "node:timers/promises";
import { showBytes } from "../domain/duration.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerLimits, Containers } from "../ports/containers.ts";
import { runCommand } from "./run-command.ts";

export interface WatchedSandbox {
  readonly id: string;
  readonly name: string;
  readonly limits: Pick<ContainerLimits, "diskBytes" | "files" | "pids">;
  /** Folders that do not lie in its own layer. */
  readonly mounted: readonly string[];
}

const everyMs = 3_000;
const countMs = 20_000;
/** As long as nobody can start a program, one that only touches the limit for a moment is not meant. */
const fullTurns = 2;

/** `sh -c <this> sh <most files> <mounted folder>…`: how many files there are, and the KiB in what is mounted. */
const measure = `
most=$1; shift
find / "$@" -xdev 2>/dev/null | head -n "$most" | wc -l
if [ $# -gt 0 ]; then du -skc -- "$@" 2>/dev/null | tail -n 1 | cut -f 1; else echo 0; fi`;

/**
 * Looks again and again at what an engine does not hold by itself: bytes and files on disk, and processes that fill up
 * their limit for good. Resolves with the reason when one is broken; never, as long as none is.
 */
export async function watchLimits(
  containers: Containers,
  { id, name, limits, mounted }: WatchedSandbox,
  signal: AbortSignal,
): Promise<SwarmError> {
  let full = 0;
  for (;;) {
    await delay(everyMs, undefined, { signal });
    try {
      const facts = await containers.look(id, { withDisk: true }, signal);
      const { pids } = await containers.stats(id, signal);
      full = pids >= limits.pids ? full + 1 : 0;
      if (full >= fullTurns) return new SwarmError("PROCESSES_EXHAUSTED", { name, limit: limits.pids });
      // Where there is no process left, nobody can be sent to count.
      const inside =
        full > 0 ? nothing : await measureInside(containers, { id, mounted, most: limits.files + 1 }, signal);
      const bytes = (facts?.diskBytes ?? 0) + inside.mountedBytes;
      if (bytes > limits.diskBytes)
        return new SwarmError("DISK_FULL", {
          name,
          used: showBytes(bytes),
          limit: showBytes(limits.diskBytes),
        });
      if (inside.files > limits.files)
        return new SwarmError("FILES_EXHAUSTED", { name, limit: limits.files });
    } catch (error) {
      signal.throwIfAborted();
      // A turn that could not look, or whose counting took too long, is made good by the next one.
      if (!(error instanceof SwarmError)) throw error;
    }
  }
}

const nothing = { files: 0, mountedBytes: 0 };

/** What the engine does not count: files, and what lies in volumes. Counting that takes too long is ended in there, too. */
async function measureInside(
  containers: Containers,
  { id, mounted, most }: { readonly id: string; readonly mounted: readonly string[]; readonly most: number },
  signal: AbortSignal,
): Promise<{ files: number; mountedBytes: number }> {
  const { stdout } = await runCommand(
    containers,
    {
      ...{ containerId: id, timeoutMs: countMs, outputLimit: 200 },
      command: ["sh", "-c", measure, "sh", String(most), ...mounted],
    },
    signal,
  );
  const [files = 0, kibibytes = 0] = stdout.split("\n").map(Number);
  return { files, mountedBytes: kibibytes * 1024 };
}
