import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import { hasSandboxEndedForGood } from "../../sandbox/rules/sandbox-end.ts";

type Listed = Pick<SandboxRecord, "id" | "status" | "reason" | "container" | "execution">;

/**
 * Suggests which command to run after `swarm sandbox ls`. `records` are the listed sandboxes, the newest
 * first; destroyed sandboxes are ignored.
 */
export function suggestNextSandboxCommand(records: readonly Listed[]): string {
  const present = records.filter(({ status }) => status !== "destroyed");
  const [latest] = present;
  const ready = present.find(
    (record) => !hasSandboxEndedForGood(record) && record.container !== null && record.execution === null,
  );
  // Without `--sandbox`, `swarm sandbox run` uses the latest sandbox.
  if (ready !== undefined)
    return ready === latest ? "`swarm sandbox run FILE`" : `\`swarm sandbox run --sandbox ${ready.id} FILE\``;
  const busy = present.find((record) => !hasSandboxEndedForGood(record) && record.execution !== null);
  if (busy !== undefined) return `\`swarm sandbox logs -f ${busy.id}\` shows the output of the running task`;
  const making = present.find((record) => !hasSandboxEndedForGood(record));
  if (making !== undefined) return "run `swarm sandbox ls` again: a sandbox is being created";
  return latest === undefined
    ? "`swarm sandbox up`"
    : `\`swarm sandbox up\` creates a new sandbox; \`swarm sandbox destroy ${latest.id}\` removes the latest sandbox from the engine`;
}
