import type { WorkerSummary } from "../../../contract/summary.ts";
import { isBranchName } from "../../../git/rules/branch-name.ts";
import { quoteForShell } from "../../../text/quote-for-shell.ts";

type Ended = Omit<WorkerSummary, "next">;

/** Returns `swarm` and git commands with which the user can review, merge or correct a worker's result. */
export function nextCommandsForWorker(worker: Ended, { isOwned }: { readonly isOwned: boolean }): string[] {
  const { status, reason, work, worker: name } = worker;
  const looks = work === null ? [] : [lookAt(worker), `swarm diff ${name}`].flat();
  switch (status) {
    case "completed":
      return [...looks, ...takeIfBranchless(worker)];
    case "failed": {
      const isSkipped = reason?.code === "DEPENDENCY_FAILED";
      const mends = isSkipped ? [] : [`swarm logs ${name}`, `swarm retry ${name}`];
      return [...mends, ...looks, ...takeIfBranchless(worker), ...unfinishedOf(worker)];
    }
    case "running":
      return isOwned ? [`swarm logs ${name} -f`] : ["swarm resume"];
    case "pending":
    case "stopped":
      return [...(isOwned ? [] : ["swarm resume"]), ...looks];
  }
}

/** Returns commands with which the user can continue after a swarm as a whole, the most urgent first. */
export function nextCommandsForSwarm(
  workers: readonly WorkerSummary[],
  { isOwned }: { readonly isOwned: boolean },
): string[] {
  const failed = workers.filter(
    ({ status, reason }) => status === "failed" && reason?.code !== "DEPENDENCY_FAILED",
  );
  const isLeft = workers.some(({ status }) => status !== "completed" && status !== "failed");
  const done = workers.find(({ status, work }) => status === "completed" && work !== null);
  return [
    ...(isLeft ? [isOwned ? "swarm events -f" : "swarm resume"] : []),
    ...failed.slice(0, 1).map(({ worker }) => `swarm logs ${worker}`),
    ...(failed.length > 0
      ? [failed.length > 1 ? "swarm retry @failed" : `swarm retry ${failed[0]?.worker}`]
      : []),
    ...(done ? lookAt(done) : []),
    ...(done ? [`swarm diff ${done.worker}`] : []),
    ...(workers.length === 0 ? ["swarm plan"] : []),
  ];
}

function lookAt({ base, work }: Pick<Ended, "base" | "work">): string[] {
  if (base === null || work === null) return [];
  // git cannot resolve a branch name that it considers invalid, so use the ref in this case.
  const tip = work.branch !== null && isBranchName(work.branch) ? work.branch : work.ref;
  return [`git log --oneline ${quoteForShell(`${base.slice(0, 12)}..${tip}`)}`];
}

/**
 * Returns the command that creates a branch for a worker's commits, if no branch holds them, but only an
 * internal ref.
 */
function takeIfBranchless({ work, worker }: Ended): string[] {
  return work === null || work.branch !== null
    ? []
    : [`git branch swarm-${worker} ${quoteForShell(work.ref)}`];
}

function unfinishedOf({ base, work, stories }: Ended): string[] {
  const from = work?.commit ?? base;
  return stories.flatMap(({ unfinished }) =>
    unfinished === null || from === null
      ? []
      : [`git diff ${from.slice(0, 12)} ${quoteForShell(unfinished)}`],
  );
}
