import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { until } from "./dockerode-at.ts";

const patienceMs = 2_000;

/**
 * Resolves when no program is just being begun in a container, whoever began it. The engine answers that it begins one
 * before it has; until then the program has no process. One that nobody begins any more is not waited for.
 */
export async function programsBegun(docker: Docker, container: string, signal?: AbortSignal): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(10)) {
    const found = await docker
      .getContainer(container)
      .inspect({ ...until(signal) })
      .catch(() => null);
    const programs = (found?.ExecIDs ?? []).map((id) =>
      docker
        .getExec(id)
        .inspect({ ...until(signal) })
        .catch(() => null),
    );
    const isAnyBeginning = (await Promise.all(programs)).some(
      (program) => program !== null && program.ExitCode === null && program.Pid === 0,
    );
    if (!isAnyBeginning) return;
  }
}
