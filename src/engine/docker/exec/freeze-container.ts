import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { SwarmError } from "../../../errors/errors.ts";
import type { ContainerPauseLock } from "../../../machine/pause-lock.ts";
import { abortSignalOption } from "../dockerode-client.ts";

const patienceMs = 15_000;

export interface FreezeContainerDeps {
  readonly docker: Docker;
  readonly gate: ContainerPauseLock;
}

/**
 * Waits until no program is starting in the given container, then runs an operation that freezes the
 * container.
 */
export async function freezeWhenNoProgramStarts<Result>(
  { docker, gate }: FreezeContainerDeps,
  id: string,
  freeze: (container: Docker.Container) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { Id } = await docker.getContainer(id).inspect({ ...abortSignalOption(signal) });
  await using _alone = await gate.lockForPause(Id, signal);
  await noProgramStarting(docker, Id, signal);
  return await freeze(docker.getContainer(Id));
}

/**
 * Resolves when no program is starting in the given container. Throws after a timeout, because a freeze
 * while a program starts could freeze the container forever.
 *
 * The pause lock alone is not enough: another user's processes do not take the lock, and a killed process
 * releases the lock although its program is still starting.
 */
async function noProgramStarting(docker: Docker, id: string, signal?: AbortSignal): Promise<void> {
  for (const end = performance.now() + patienceMs; ; await delay(10, undefined, { signal })) {
    const { ExecIDs } = await docker.getContainer(id).inspect({ ...abortSignalOption(signal) });
    const programs = (ExecIDs ?? []).map((exec) =>
      docker
        .getExec(exec)
        .inspect({ ...abortSignalOption(signal) })
        // Ignore the error: the program has ended meanwhile.
        .catch(() => null),
    );
    // The engine reports a starting program as running with process ID 0.
    const isAnyStarting = (await Promise.all(programs)).some(
      (program) => program?.Running === true && program.Pid === 0,
    );
    if (!isAnyStarting) return;
    if (performance.now() > end)
      throw new SwarmError("ENGINE_FAILED", {
        operation: `pause the container ${id}`,
        reason: `a program has been starting in the container for ${patienceMs / 1000} s, and a pause during a start would deadlock the container`,
      });
  }
}
