import type { StorySummary, SummaryCheck, SwarmSummary, WorkerSummary } from "../../../contract/summary.ts";
import { formatDuration } from "../../../text/duration-and-size.ts";
import { formatCount } from "../../../text/format-count.ts";

const maxDeletedShown = 5;

/**
 * Describes in one line how swarm checked a worker's result in a fresh sandbox; an empty text if swarm did
 * not check the result.
 */
export function describeProof({ proof }: Pick<WorkerSummary, "proof">): string {
  if (proof === null) return "";
  const verdict = proof.verdict.replace("-", " ");
  if (proof.why !== null) return `${verdict}: ${proof.why}`;
  return proof.verdict === "proved"
    ? `proved: ${formatCount(proof.checks.length, "check")} in a fresh sandbox`
    : `${verdict}: swarm found no check to run`;
}

/** Describes how a check command of a proof ended: its exit code, or that it ran out of time. */
export function describeProofCheckEnd(exitCode: number | null): string {
  return exitCode === null ? "did not end in time" : exitCode === 0 ? "passed" : `exit ${exitCode}`;
}

/** Describes the tests that a worker's changes delete or skip, one per line. */
export function describeWeakenedTests({ proof }: Pick<WorkerSummary, "proof">): string[] {
  if (proof === null) return [];
  const more = proof.isCut ? ["the result is too large: swarm did not examine all of its tests"] : [];
  return [...proof.weakened.map((words) => `the result deletes or skips tests: ${words}`), ...more];
}

/** Describes how an earlier attempt of a worker ended. */
export function describeEarlierAttempt({ attempt, code, message }: WorkerSummary["earlier"][number]): string {
  return `attempt ${attempt} ended with ${code}: ${message}`;
}

/**
 * Renders the totals of a swarm in one line: `2 of 3 workers completed, 1 failed; 5 of 7 stories; 12 min 3 s
 * of work; …`
 */
export function describeSwarmTotals({ totals: { workers, stories, workMs, usage } }: SwarmSummary): string {
  const others = (["failed", "stopped", "running", "pending"] as const).flatMap((status) =>
    workers[status] > 0 ? [`${workers[status]} ${status}`] : [],
  );
  return [
    [`${workers.completed} of ${formatCount(workers.total, "worker")} completed`, ...others].join(", "),
    `${stories.completed} of ${stories.total} stories`,
    `${formatDuration(workMs)} of work`,
    ...spentWords(usage),
  ].join("; ");
}

/** Describes the branch that contains the workers' merged results, and how swarm checked this branch. */
export function describeMergedBranch({
  branch,
  tip,
  command,
  workers,
}: NonNullable<SwarmSummary["merge"]>): string {
  const merged = workers.filter(({ outcome }) => outcome === "merged" || outcome === "merged before").length;
  const aside = workers.filter(({ outcome }) => outcome === "set aside").length;
  return [
    `${formatCount(merged, "result")} on ${branch} at ${tip.slice(0, 10)}`,
    ...(aside > 0 ? [`${aside} set aside`] : []),
    command === null ? "no check was run" : `checked with ${command}`,
  ].join(", ");
}

/** Describes the number of tokens that agents used, and the tokens' cost if it is known. */
function spentWords(usage: WorkerSummary["usage"]): string[] {
  if (usage === null) return [];
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, costUsd } = usage;
  const cost = costUsd === null ? [] : [`$${costUsd.toFixed(costUsd < 0.1 ? 4 : 2)}`];
  return [`${inputTokens + cacheReadTokens + cacheWriteTokens} tokens in, ${outputTokens} out`, ...cost];
}

/** Describes a worker's working time, tokens and cost, as far as these are known. */
export function describeTimeAndCost({ workMs, usage }: Pick<WorkerSummary, "workMs" | "usage">): string[] {
  return [...(workMs === null ? [] : [formatDuration(workMs)]), ...spentWords(usage)];
}

/**
 * Returns the name of the branch, or else of the ref, that holds a worker's commits. Without commits, returns
 * `nothing had to change` for a completed worker, and an empty text for any other worker.
 */
export function describeWorkRef({ work, status }: Pick<WorkerSummary, "work" | "status">): string {
  if (work === null) return status === "completed" ? "nothing had to change" : "";
  const place = work.branch ?? work.ref;
  const aside = work.branch !== null && work.branch !== work.wanted ? ` instead of ${work.wanted}` : "";
  return `${place} ${work.commit.slice(0, 10)}${aside}`;
}

export function describeWorkerChanges({ changes }: Pick<WorkerSummary, "changes">): string {
  if (changes === null) return "";
  const { commits, files, added, deleted, isCut } = changes;
  const more = isCut ? " and more" : "";
  return `${formatCount(commits.length, "commit")}, ${formatCount(files, "file")}, +${added} -${deleted}${more}`;
}

/** Describes the files that a worker deleted: their number, and the paths of the first few. */
export function describeDeletedFiles({ sensitive }: Pick<WorkerSummary, "sensitive">): string[] {
  const { total, paths } = sensitive.deleted;
  if (total === 0) return [];
  const shown = paths.slice(0, maxDeletedShown);
  const more = total > shown.length ? ` and ${total - shown.length} more` : "";
  return [`the result deletes ${formatCount(total, "file")}: ${shown.join(", ")}${more}`];
}

export function hasMoreDeletedFiles({ sensitive }: Pick<WorkerSummary, "sensitive">): boolean {
  return sensitive.deleted.total > sensitive.deleted.paths.length;
}

export function describeCheckEnd({ exitCode, durationMs }: SummaryCheck): string {
  const end = exitCode === null ? "ended by its time limit" : `exit ${exitCode}`;
  return durationMs === 0 ? end : `${end}, ${formatDuration(durationMs)}`;
}

/** Returns why a story failed; for a story without such a reason, returns the story's output. */
export function describeStoryResult({ reason, output }: Pick<StorySummary, "reason" | "output">): string {
  return reason === null ? (output ?? "") : `${reason.code}: ${reason.message}`;
}
