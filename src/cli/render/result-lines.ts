import type { ExitCode } from "../../errors/exit-codes.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { swarmExitCode } from "../../state/rules/swarm-exit.ts";
import type { ContainerRecord, SwarmState } from "../../state/rules/swarm-state.ts";
import { formatCount } from "../../text/format-count.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { workerSlug } from "../../text/slugs.ts";
import { tokensOf } from "./status-lines.ts";
import { alignTable } from "./table.ts";

/**
 * Renders a table of a swarm's workers: how each of them ended, and which branch or ref contains its work.
 */
export function workerResultLines({ swarmId, containers }: SwarmState): string[] {
  const rows = containers.map((record) => [
    record.status,
    workerSlug(record),
    `${record.storyProgress.completed}/${record.storyProgress.total}`,
    workOf(record),
    tokensOf(record.usage),
    record.reason ? sanitizeText(`${record.reason.code}: ${record.reason.message}`, 200) : "",
  ]);
  return [
    `swarm ${swarmId}`,
    ...alignTable([["STATUS", "WORKER", "STORIES", "WORK", "TOKENS", "REASON"], ...rows]),
  ];
}

/**
 * Returns the branch that contains the worker's published work. If there is none, returns the ref of the
 * commits that swarm copied from the worker's container.
 */
function workOf({ branch, collected, status, reason }: ContainerRecord): string {
  if (branch?.done) return `${branch.ref.replace("refs/heads/", "")} ${branch.new.slice(0, 10)}`;
  if (collected) return `${collected.ref} ${collected.commit.slice(0, 10)}`;
  return status === "completed" && reason === null ? "nothing had to change" : "-";
}

/**
 * Returns the exit code of a command that ran a swarm or waited for one, and the next command to suggest to
 * the user.
 */
export function exitCodeAndNextCommand(swarm: Pick<SwarmState, "containers">): {
  readonly exit: ExitCode;
  readonly next: string;
} {
  return { exit: swarmExitCode(swarm), next: nextCommandAfter(swarm) };
}

function nextCommandAfter({ containers }: Pick<SwarmState, "containers">): string {
  if (!containers.every(({ status }) => isTerminalStatus(status)))
    return "`swarm resume` continues this swarm";
  const failed = containers.filter(({ status }) => status === "failed").length;
  if (failed > 0)
    return `${formatCount(failed, "worker")} failed: \`swarm logs <worker>\` shows why, \`swarm retry @failed\` retries all failed workers`;
  return containers.length > 1
    ? "`swarm summary` shows the results, `swarm merge` merges the workers' branches"
    : "`swarm summary` shows the results, `swarm diff <worker>` shows a worker's changes";
}
