import { setTimeout as delay } from "node:timers/promises";
import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { OutputChunk } from "../../engine/containers.ts";
import { SwarmError } from "../../errors/errors.ts";
import { type CommandContainer, type CommandResult, runCommand } from "../command/run-command.ts";
import type { RunningSandbox } from "../running-sandbox.ts";
import type { OutputLog } from "../sandbox-folders-port.ts";
import { watchSandboxLimits } from "./watch-limits.ts";

export type TaskOutcome =
  | { readonly kind: "ran"; readonly result: CommandResult }
  | { readonly kind: "stopped"; readonly error: unknown };

interface TaskAttempt {
  readonly record: SandboxRecord;
  readonly command: readonly string[];
  /** The paths in the container at which volumes are mounted. */
  readonly mounted: readonly string[];
  readonly log: OutputLog;
  readonly onOutput: (chunk: OutputChunk) => Promise<void> | void;
  /**
   * The key that identifies the task's program. If this process dies, another process reads the program's
   * exit code with the key.
   */
  readonly key: string;
}

/** The maximum size of a task's stdout and stderr together, in bytes. */
const maxOutputBytes = 64 * 1024 * 1024;
const shownOutput = 10_000;
const stopAgainMs = 500;

/**
 * Runs a task's program in the sandbox's container. Meanwhile, watches the limits that the engine does not
 * enforce.
 */
export async function attemptTask(
  container: Pick<RunningSandbox, "containers" | "containerId">,
  { record, command, mounted, key, log, onOutput }: TaskAttempt,
  signal?: AbortSignal,
): Promise<TaskOutcome> {
  const broken = new AbortController();
  const ended = new AbortController();
  const done = new AbortController();
  const watching = watchSandboxLimits(
    container,
    {
      name: `sandbox ${record.id}`,
      runtime: record.isolation.runtime,
      limits: record.limits,
      mounted,
    },
    done.signal,
  ).then(
    async (reason) => {
      broken.abort(reason);
      // Stops the whole container instead of one program: at the process limit, no process may be left to end
      // a program with.
      await stopUntilDone(container, done.signal);
      ended.abort(reason);
    },
    (error: unknown) => {
      if (!done.signal.aborted) throw error;
    },
  );
  try {
    const result = await runCommand(
      container,
      {
        command,
        workdir: "/work",
        timeoutMs: null,
        outputLimit: shownOutput,
        maxOutputBytes,
        key,
        onOutput: async (chunk) => {
          await log.write(chunk);
          await onOutput(chunk);
        },
      },
      signal ? AbortSignal.any([signal, ended.signal]) : ended.signal,
    );
    broken.signal.throwIfAborted();
    return { kind: "ran", result };
  } catch (error) {
    return { kind: "stopped", error: broken.signal.aborted ? broken.signal.reason : error };
  } finally {
    done.abort();
    await watching;
  }
}

/** Stops a container. If the engine fails to stop it, retries until the task has ended. */
async function stopUntilDone(
  { containers, containerId }: Pick<RunningSandbox, "containers" | "containerId">,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await containers.stop(containerId, { graceMs: 0 });
      return;
    } catch (error) {
      if (!(error instanceof SwarmError) || error.code === "CONTAINER_GONE") return;
      await delay(stopAgainMs, undefined, { signal }).catch(() => {});
    }
  }
}

/**
 * Returns how many processes in this container the kernel has killed because memory ran out. Engines report
 * this only for a container's main process.
 */
export async function countOomKills(container: CommandContainer, signal?: AbortSignal): Promise<number> {
  const { stdout } = await runCommand(
    container,
    {
      timeoutMs: 10_000,
      outputLimit: 1_000,
      command: [
        "sh",
        "-c",
        "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; true",
      ],
    },
    signal,
  );
  return Number(/^oom_kill (\d+)$/m.exec(stdout)?.[1] ?? 0);
}
