import type { ForecastConflict, MergedWorker, RanCheck } from "../../contract/merge.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import { formatCount } from "../../text/format-count.ts";
import { mergeOrder } from "./rules/merge-order.ts";
import { type RunMergeCheck, type SpeculativeChecks, speculativeChecks } from "./speculative-checks.ts";

/** The result of one worker, already in the repository, as input for a merge. */
export interface WorkerResult {
  readonly worker: string;
  readonly commit: string;
  readonly base: string;
  /** The message of the merge commit that will contain the result. */
  readonly message: string;
  /** Why a person must review the result before it is merged. Null if swarm may merge it without a review. */
  readonly holdReason: MergedWorker["reason"];
}

export interface MergeResultsDeps {
  readonly work: Pick<WorkRepository, "merge" | "conflicts" | "isAncestor" | "changes">;
  /** Runs the check command of the merge on a commit, in a sandbox where no agent ever ran. */
  readonly check: RunMergeCheck;
  /**
   * Whether the merge check of the next result may start before the check of the current result has ended.
   */
  readonly looksAhead: boolean;
  readonly onStep: (step: string) => void;
  readonly signal: AbortSignal;
}

export interface MergeTarget {
  /** The commit onto which the results are merged. */
  readonly begin: string;
  /**
   * A commit that contains none of the results. It is the same commit as `begin`, unless an earlier merge has
   * already put some of the results into `begin`.
   */
  readonly origin: string;
}

export interface MergedResults {
  readonly tip: string;
  readonly before: RanCheck | null;
  readonly workers: readonly MergedWorker[];
  readonly forecast: readonly ForecastConflict[];
}

interface Candidate extends WorkerResult {
  readonly buildsOn: readonly string[];
  readonly conflicts: number;
  readonly size: number;
}

/**
 * Merges the results onto a commit, one after the other. Leaves out a result if it conflicts, fails the merge
 * check or needs a review. Moves no ref: the caller moves the branch to the returned commit.
 */
export async function mergeResults(
  deps: MergeResultsDeps,
  { begin, origin }: MergeTarget,
  results: readonly WorkerResult[],
): Promise<MergedResults> {
  const { work, onStep, signal } = deps;
  const mergedBefore = new Set<string>();
  for (const { worker, commit } of results)
    if (await work.isAncestor(commit, begin, signal)) mergedBefore.add(worker);

  const isOpen = ({ worker }: WorkerResult): boolean => !mergedBefore.has(worker);
  if (results.length > 1)
    onStep(`Checking which of ${formatCount(results.length, "result")} conflict with each other`);
  const forecast = await forecastOf(deps, results);
  const candidates = await candidatesOf(deps, results, forecast);
  const checks = speculativeChecks(deps.check, signal);
  // Starts this check only if another check fails, because only then is the comparison needed.
  let before: Promise<RanCheck | null> | undefined;
  const train: MergeState = {
    origin,
    forecast,
    checks,
    tip: begin,
    aside: new Map(),
    merged: candidates.filter((candidate) => !isOpen(candidate)),
    before: () => (before ??= checks.resultOf(begin, "the commit before the merge")),
  };
  const done = train.merged.map((each): MergedWorker => ({ ...plain(each), outcome: "merged before" }));
  const ordered = mergeOrder(candidates.filter(isOpen));
  try {
    for (const [at, candidate] of ordered.entries())
      done.push(await mergeOne(deps, train, candidate, ordered[at + 1]));
  } finally {
    await checks.abortUnused();
  }
  return { tip: train.tip, before: (await before) ?? null, workers: done, forecast };
}

interface MergeState {
  readonly origin: string;
  readonly checks: SpeculativeChecks;
  readonly before: () => Promise<RanCheck | null>;
  readonly forecast: readonly ForecastConflict[];
  tip: string;
  readonly merged: Candidate[];
  readonly aside: Map<string, Candidate>;
}

async function mergeOne(
  deps: MergeResultsDeps,
  train: MergeState,
  candidate: Candidate,
  next: Candidate | undefined,
): Promise<MergedWorker> {
  const { work, signal } = deps;
  const { worker, commit, message } = candidate;
  const setAside = (why: Pick<MergedWorker, "reason"> & Partial<MergedWorker>): MergedWorker => {
    train.aside.set(worker, candidate);
    return { ...plain(candidate), outcome: "set aside", ...why };
  };
  const missing = missingFor(train, candidate);
  if (missing.length > 0)
    return setAside({
      reason: {
        code: "BUILDS_ON_SET_ASIDE",
        message: `the result builds on results that the merge set aside: ${missing.join(", ")}`,
      },
      with: missing,
    });

  if (candidate.holdReason !== null) return setAside({ reason: candidate.holdReason });
  const merged = await work.merge({ ours: train.tip, theirs: commit, message }, signal);
  if (merged.kind === "conflict") {
    const others = train.forecast.flatMap(({ one, other }) =>
      one === worker ? [other] : other === worker ? [one] : [],
    );
    const rivals = others.filter((other) => train.merged.some((kept) => kept.worker === other));
    const whom = rivals.length > 0 ? rivals.join(", ") : "the commit onto which the results are merged";
    const reason = { code: "MERGE_CONFLICT", message: `the result conflicts with ${whom}` } as const;
    return setAside({ reason, files: [...merged.files], with: rivals });
  }

  const ending = train.checks.resultOf(merged.commit, worker);
  // Waits for both: if starting the next check fails, the check of this result must not keep running alone.
  const [checked, looked] = await Promise.allSettled([
    ending,
    next && deps.looksAhead ? startNextCheck(deps, train, merged.commit, next) : null,
  ]);
  if (checked.status === "rejected") throw checked.reason;
  if (looked.status === "rejected") throw looked.reason;
  const check = checked.value;
  // If the check already failed before the merge, its failure does not count against this result.
  if (hasPassed(check) || !hasPassed(await train.before())) {
    train.tip = merged.commit;
    train.merged.push(candidate);
    return { ...plain(candidate), outcome: "merged", mergedAs: merged.commit, check };
  }
  await train.checks.abortUnused();
  return setAside({ ...(await findRivals(deps, train, candidate)), check });
}

/**
 * Starts the merge check of the next result early, on a merge that already contains the current result, as if
 * the current result had passed.
 */
async function startNextCheck(
  { work, signal }: MergeResultsDeps,
  train: MergeState,
  tip: string,
  { worker, commit, message, ...next }: Candidate,
): Promise<void> {
  if (next.holdReason !== null || missingFor(train, next).length > 0) return;
  const merged = await work.merge({ ours: tip, theirs: commit, message }, signal);
  if (merged.kind === "commit") train.checks.begin(merged.commit, worker);
}

function missingFor({ aside }: MergeState, { buildsOn }: Pick<Candidate, "buildsOn">): string[] {
  return buildsOn.filter((other) => aside.has(other));
}

/**
 * Returns why a result fails the merge check: alone, or only together with other results. In the latter case,
 * also returns the other results.
 */
async function findRivals(
  { work, signal }: MergeResultsDeps,
  { origin, merged, checks }: MergeState,
  { worker, commit, message, buildsOn }: Candidate,
): Promise<Pick<MergedWorker, "reason" | "with">> {
  const failed = { code: "CHECK_FAILED", message: "the check fails with this result" } as const;
  const others = merged.filter((other) => !buildsOn.includes(other.worker));
  if (others.length === 0) return { reason: failed, with: [] };
  const alone = await work.merge({ ours: origin, theirs: commit, message }, signal);
  if (alone.kind === "conflict" || !hasPassed(await checks.resultOf(alone.commit, `${worker} alone`)))
    return { reason: failed, with: [] };
  const together = (names: string): MergedWorker["reason"] => ({
    code: "CHECK_FAILED_TOGETHER",
    message: `the check passes with this result alone, but fails with this result and ${names} together`,
  });
  for (const other of others) {
    const pair = await work.merge(
      { ours: alone.commit, theirs: other.commit, message: other.message },
      signal,
    );
    if (pair.kind === "conflict") continue;
    if (!hasPassed(await checks.resultOf(pair.commit, `${worker} with ${other.worker}`)))
      return { reason: together(other.worker), with: [other.worker] };
  }
  const names = others.map((other) => other.worker);
  return { reason: together(`several of ${names.join(", ")}`), with: names };
}

/** Returns whether the merge check passed. Without a check command, every result counts as passed. */
function hasPassed(check: RanCheck | null): boolean {
  return check === null || check.exitCode === 0;
}

function plain({ worker, commit }: WorkerResult): Omit<MergedWorker, "outcome"> {
  return { worker, commit, mergedAs: null, reason: null, files: [], with: [], check: null };
}

async function candidatesOf(
  { work, signal }: MergeResultsDeps,
  results: readonly WorkerResult[],
  forecast: readonly ForecastConflict[],
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const result of results) {
    const buildsOn: string[] = [];
    for (const other of results)
      if (other !== result && (await work.isAncestor(other.commit, result.commit, signal)))
        buildsOn.push(other.worker);
    const conflicts = forecast.filter(({ one, other }) => [one, other].includes(result.worker)).length;
    const { totals } = await work.changes(result.base, result.commit, signal);
    candidates.push({ ...result, buildsOn, conflicts, size: totals.added + totals.deleted });
  }
  return candidates;
}

async function forecastOf(
  { work, signal }: MergeResultsDeps,
  results: readonly WorkerResult[],
): Promise<ForecastConflict[]> {
  const pairs = results.flatMap((one, at) => results.slice(at + 1).map((other) => [one, other] as const));
  const conflicts = await work.conflicts(
    pairs.map(([one, other]) => [one.commit, other.commit]),
    signal,
  );
  return pairs.flatMap(([one, other], at) => {
    const files = conflicts[at] ?? [];
    return files.length === 0 ? [] : [{ one: one.worker, other: other.worker, files: [...files] }];
  });
}
