import { isTerminal } from "../domain/container-status.ts";
import { countOf } from "../domain/count-of.ts";
import type { ExitCode } from "../domain/exit-codes.ts";
import { swarmExit } from "../domain/swarm-exit.ts";
import type { SwarmState } from "../domain/swarm-state.ts";

/** Returns the exit code, and the next command to suggest, after the user ran a swarm or waited for one. */
export function outcomeOf(swarm: Pick<SwarmState, "containers">): {
  readonly exit: ExitCode;
  readonly next: string;
} {
  const exit = swarmExit(swarm);
  const { containers } = swarm;
  if (!containers.every(({ status }) => isTerminal(status)))
    return { exit, next: "`swarm resume` continues from here" };
  const failed = containers.filter(({ status }) => status === "failed").length;
  if (failed === 0)
    return {
      exit,
      next:
        containers.length > 1
          ? "`swarm summary` says what was done, `swarm merge` brings the branches together"
          : "`swarm summary` says what was done, `swarm diff <worker>` shows it",
    };
  return {
    exit,
    next: `${countOf(failed, "worker")} failed: \`swarm logs <worker>\` says why, \`swarm retry @failed\` tries again`,
  };
}
