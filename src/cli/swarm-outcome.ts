import { isTerminalStatus } from "../domain/container-status.ts";
import { formatCount } from "../domain/count-of.ts";
import type { ExitCode } from "../domain/exit-codes.ts";
import { swarmExitCode } from "../domain/swarm-exit.ts";
import type { SwarmState } from "../domain/swarm-state.ts";

/**
 * Returns the exit code of a command that ran a swarm or waited for one, and the next command to suggest to
 * the user.
 */
export function exitCodeAndNextCommand(swarm: Pick<SwarmState, "containers">): {
  readonly exit: ExitCode;
  readonly next: string;
} {
  const exit = swarmExitCode(swarm);
  const { containers } = swarm;
  if (!containers.every(({ status }) => isTerminalStatus(status)))
    return { exit, next: "`swarm resume` continues this swarm" };
  const failed = containers.filter(({ status }) => status === "failed").length;
  if (failed === 0)
    return {
      exit,
      next:
        containers.length > 1
          ? "`swarm summary` shows the results, `swarm merge` merges the workers' branches"
          : "`swarm summary` shows the results, `swarm diff <worker>` shows a worker's changes",
    };
  return {
    exit,
    next: `${formatCount(failed, "worker")} failed: \`swarm logs <worker>\` shows why, \`swarm retry @failed\` retries all failed workers`,
  };
}
