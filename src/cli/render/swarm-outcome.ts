import type { ExitCode } from "../../errors/exit-codes.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { swarmExitCode } from "../../state/rules/swarm-exit.ts";
import type { SwarmState } from "../../state/rules/swarm-state.ts";
import { formatCount } from "../../text/format-count.ts";

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
