import type { MergeReport, RanCheck } from "../../contract/merge.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { CommitReader } from "../../git/commit-reader-port.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import type { ContainerRecord } from "../../state/rules/swarm-state.ts";
import { formatCount } from "../../text/format-count.ts";
import { findWeakenedTests } from "./find-weakened-tests.ts";
import { mergeResults, type WorkerResult } from "./merge-results.ts";
import {
  defaultIntegrationBranch,
  findResultToMerge,
  mergeEntryWithoutResult,
} from "./rules/merge-report.ts";

export interface MergeIntoBranchDeps {
  readonly work: WorkRepository;
  readonly commits: Pick<CommitReader, "head">;
  /** Returns the check command of the merge; null if there is none. */
  readonly testCommand: () => Promise<string | null>;
  /** Runs the check command of the merge on a commit, in a sandbox where no agent ever ran. */
  readonly runCheck: (commit: string, command: string, signal: AbortSignal) => Promise<RanCheck>;
  /** Whether this machine has enough CPUs and memory to run the merge check on two commits at once. */
  readonly looksAhead: boolean;
  readonly crashPoint: CrashHook;
  readonly onStep: (step: string) => void;
  readonly signal: AbortSignal;
}

export interface ResultsToMerge {
  readonly swarmId: string;
  readonly records: readonly ContainerRecord[];
  /** The branch to merge into; null for the swarm's own integration branch. */
  readonly into: string | null;
  /** Whether the user listed these workers on the command line. That counts as a review of their results. */
  readonly isAsked: boolean;
}

/**
 * Merges the results of workers into one branch. Moves the branch only in the last step, so a merge that is
 * killed has no effect and can be repeated.
 */
export async function mergeIntoBranch(
  deps: MergeIntoBranchDeps,
  { swarmId, records, into, isAsked }: ResultsToMerge,
): Promise<MergeReport> {
  const { work, commits, crashPoint, onStep, signal } = deps;
  const branch = into ?? defaultIntegrationBranch(swarmId);
  const target = await work.branch(branch);
  if (target.obstacle) throw new SwarmError("BRANCH_REFUSED", { branch, reason: target.obstacle.reason });
  const plain = records.map(findResultToMerge).filter((result) => result !== null);
  const results: WorkerResult[] = [];
  for (const result of plain)
    results.push({ ...result, holdReason: isAsked ? null : await holdReasonOf(deps, result) });
  const origin = (await startOf(deps, results)) ?? (await commits.head());
  const begin = target.commit ?? origin;
  if (begin === null || origin === null)
    throw new SwarmError("GIT_FAILED", {
      command: "rev-parse HEAD",
      reason: "the repository has no commit yet",
    });
  crashPoint("merge-begun");

  const command = results.length === 0 ? null : await deps.testCommand();
  const merged = await mergeResults(
    {
      work,
      onStep,
      signal,
      looksAhead: deps.looksAhead,
      async check(commit, what, ending) {
        if (command === null) return null;
        onStep(`Checking ${what} (${command})`);
        const ran = await deps.runCheck(commit, command, ending);
        crashPoint("after-merge-check");
        return ran;
      },
    },
    // If the branch has another base, no commit without the results is known, so the branch's own commit is
    // used.
    { begin, origin: (await work.isAncestor(origin, begin)) ? origin : begin },
    results,
  );

  const isMoved = merged.tip !== (target.commit ?? begin);
  if (isMoved) await publish(deps, { branch, begin, tip: merged.tip });
  return {
    swarmId,
    branch,
    exists: isMoved || target.commit !== null,
    begin,
    tip: merged.tip,
    moved: isMoved,
    check: { command, before: merged.before },
    workers: [
      ...merged.workers,
      ...records.filter((record) => findResultToMerge(record) === null).map(mergeEntryWithoutResult),
    ],
    forecast: merged.forecast,
  };
}

/**
 * Returns why a person must review a result before its merge: it deletes or skips tests, or is too large for
 * swarm to examine. Null if the result needs no review.
 */
async function holdReasonOf(
  { work, signal }: MergeIntoBranchDeps,
  { worker, base, commit }: Pick<WorkerResult, "worker" | "base" | "commit">,
): Promise<WorkerResult["holdReason"]> {
  const { tests, isLoss, isCut } = await findWeakenedTests({ work }, { base, tip: commit }, signal);
  if (isCut) {
    const large = `the result is too large for a check of all its tests; \`swarm merge ${worker}\` merges this result anyway`;
    return { code: "TESTS_WEAKENED", message: large };
  }
  const [first] = tests;
  if (!isLoss || !first) return null;
  const more = tests.length > 1 ? ` and ${formatCount(tests.length - 1, "more test")}` : "";
  const verb = first.how === "deleted" ? "deletes" : "skips";
  const message = `the result ${verb} the test \`${first.line}\` of ${first.path}${more}; \`swarm merge ${worker}\` merges this result anyway`;
  return { code: "TESTS_WEAKENED", message };
}

/**
 * Returns the commit from which a new integration branch starts: the user's HEAD if it contains the base
 * commit of the results, else this base commit.
 */
async function startOf(
  { work, commits }: MergeIntoBranchDeps,
  results: readonly Pick<WorkerResult, "base">[],
): Promise<string | null> {
  // Finds the earliest base, because a result that builds on another result has a later one.
  let first: string | null = null;
  for (const { base } of results) if (first === null || (await work.isAncestor(base, first))) first = base;
  const head = await commits.head();
  if (first === null || head === null) return first ?? head;
  return (await work.isAncestor(first, head)) ? head : first;
}

async function publish(
  { work, crashPoint, signal }: MergeIntoBranchDeps,
  { branch, begin, tip }: { readonly branch: string; readonly begin: string; readonly tip: string },
): Promise<void> {
  crashPoint("before-merge-publish");
  const published = await work.publish({ commit: tip, base: begin, branch, fallbackBranch: branch }, signal);
  if (published.kind === "refused")
    throw new SwarmError("BRANCH_REFUSED", {
      branch,
      reason:
        published.obstacles[0]?.reason ??
        "another process moved the branch while swarm was updating the branch",
    });
  crashPoint("after-merge-publish");
}
