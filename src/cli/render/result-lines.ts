import type { ContainerRecord, SwarmState } from "../../state/rules/swarm-state.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { workerSlug } from "../../text/slugs.ts";
import { alignTable } from "./table.ts";

/**
 * Renders a table of a swarm's workers: how each of them ended, and which branch or ref contains its work.
 */
export function workerResultLines({ swarmId, containers }: SwarmState): string[] {
  const rows = containers.map((record) => [
    ...[record.status, workerSlug(record), storiesOf(record), workOf(record), tokensOf(record)],
    record.reason ? sanitizeText(`${record.reason.code}: ${record.reason.message}`, 200) : "",
  ]);
  return [
    `swarm ${swarmId}`,
    ...alignTable([["STATUS", "WORKER", "STORIES", "WORK", "TOKENS", "REASON"], ...rows]),
  ];
}

function storiesOf({ storyProgress: { completed, total } }: ContainerRecord): string {
  return `${completed}/${total}`;
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

function tokensOf({ usage }: ContainerRecord): string {
  return usage === null
    ? "-"
    : `${usage.tokensIn + usage.cacheRead + usage.cacheWrite} in, ${usage.tokensOut} out`;
}
