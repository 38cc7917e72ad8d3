import type Docker from "dockerode";
import { pollUntilAnswer } from "../../../machine/poll-until.ts";
import { engineFailed } from "../../engine-failed.ts";
import type { AbortOption, EngineConnection } from "../call-engine.ts";

const patienceMs = 15_000;

/**
 * Waits until no program is starting in the given container, then runs an operation that freezes the
 * container.
 */
export async function freezeWhenNoProgramStarts<Result>(
  { docker, gate }: EngineConnection,
  id: string,
  freeze: (container: Docker.Container) => Promise<Result>,
  ending: AbortOption,
): Promise<Result> {
  const { Id } = await docker.getContainer(id).inspect(ending);
  await using _alone = await gate.lockForPause(Id, ending.abortSignal);
  await noProgramStarting(docker, Id, ending);
  return await freeze(docker.getContainer(Id));
}

/**
 * Resolves when no program is starting in the given container. Throws after a timeout, because a freeze
 * while a program starts could freeze the container forever.
 *
 * The pause lock alone is not enough: another user's processes do not take the lock, and a killed process
 * releases the lock although its program is still starting.
 */
async function noProgramStarting(docker: Docker, id: string, ending: AbortOption): Promise<void> {
  const areNoneStarting = async (): Promise<true | undefined> => {
    const { ExecIDs } = await docker.getContainer(id).inspect(ending);
    const programs = (ExecIDs ?? []).map((exec) =>
      docker
        .getExec(exec)
        .inspect(ending)
        // Ignore the error: the program has ended meanwhile.
        .catch(() => null),
    );
    // The engine reports a starting program as running with process ID 0.
    const isAnyStarting = (await Promise.all(programs)).some(
      (program) => program?.Running === true && program.Pid === 0,
    );
    return isAnyStarting ? undefined : true;
  };
  const waiting = { waitMs: patienceMs, everyMs: 10 };
  if (!(await pollUntilAnswer(areNoneStarting, waiting, ending.abortSignal)))
    throw engineFailed(
      `pause the container ${id}`,
      `a program has been starting in the container for ${patienceMs / 1000} s, and a pause during a start would deadlock the container`,
    );
}
