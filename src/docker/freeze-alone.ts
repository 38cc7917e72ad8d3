import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { SwarmError } from "../domain/errors.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { until } from "./dockerode-at.ts";

const patienceMs = 15_000;

export interface FreezeDeps {
  readonly docker: Docker;
  readonly gate: PauseGate;
}

/** Does to a container what freezes it, while no program begins in it. */
export async function freezeAlone<Result>(
  { docker, gate }: FreezeDeps,
  id: string,
  freeze: (container: Docker.Container) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { Id } = await docker.getContainer(id).inspect({ ...until(signal) });
  await using _alone = await gate.pause(Id, signal);
  await programsBegun(docker, Id, signal);
  return await freeze(docker.getContainer(Id));
}

/**
 * Resolves when no program is just being begun in a container: one of another user, or of a process that was killed while it
 * began it, passes no gate. Rather no pause than one for ever.
 */
async function programsBegun(docker: Docker, id: string, signal?: AbortSignal): Promise<void> {
  for (const end = performance.now() + patienceMs; ; await delay(10, undefined, { signal })) {
    const { ExecIDs } = await docker.getContainer(id).inspect({ ...until(signal) });
    const programs = (ExecIDs ?? []).map((exec) =>
      docker
        .getExec(exec)
        .inspect({ ...until(signal) })
        // It has ended meanwhile.
        .catch(() => null),
    );
    // The engine says that a program runs before it has a process.
    const isAnyBeginning = (await Promise.all(programs)).some(
      (program) => program?.Running === true && program.Pid === 0,
    );
    if (!isAnyBeginning) return;
    if (performance.now() > end)
      throw new SwarmError("ENGINE_FAILED", {
        operation: `pause the container ${id}`,
        reason: `a program has been beginning in it for ${patienceMs / 1000} s, and would never be thawed`,
      });
  }
}
