import { countOf } from "../domain/count-of.ts";
import type { ForecastConflict, MergedWorker, RanCheck } from "../domain/generated/merge.ts";
import { mergeOrder } from "../domain/merge-order.ts";
import type { WorkRepository } from "../ports/work-repository.ts";

/** A worker's result, as it was collected. */
export interface Result {
  readonly worker: string;
  readonly commit: string;
  readonly base: string;
  /** The message of its merge. */
  readonly message: string;
}

export interface MergeResultsDeps {
  readonly work: Pick<WorkRepository, "merge" | "conflicts" | "isAncestor" | "changes">;
  /** How the check ends on a commit, in a sandbox where no agent ever was; null where nothing is checked. */
  readonly check: (commit: string, why: string) => Promise<RanCheck | null>;
  readonly onStep: (step: string) => void;
  readonly signal: AbortSignal;
}

export interface MergedResults {
  readonly tip: string;
  readonly before: RanCheck | null;
  readonly workers: readonly MergedWorker[];
  readonly forecast: readonly ForecastConflict[];
}

interface Candidate extends Result {
  readonly buildsOn: readonly string[];
  readonly conflicts: number;
  readonly size: number;
}

/** Takes results one after the other upon a commit: each is merged, checked, and kept or set aside. No ref is moved. */
export async function mergeResults(
  deps: MergeResultsDeps,
  begin: string,
  results: readonly Result[],
): Promise<MergedResults> {
  const { work, onStep, signal } = deps;
  const done: MergedWorker[] = [];
  const open: Result[] = [];
  for (const result of results)
    if (await work.isAncestor(result.commit, begin, signal))
      done.push({ ...plain(result), outcome: "merged before" });
    else open.push(result);

  onStep(`Looking which of ${countOf(open.length, "result")} conflict with each other`);
  const forecast = await forecastOf(deps, open);
  // Asked only where something fails: what passes needs no comparison.
  let before: Promise<RanCheck | null> | undefined;
  const train: Train = {
    ...{ begin, forecast, tip: begin, kept: [], aside: new Map() },
    before: () => (before ??= deps.check(begin, "what they are merged upon")),
  };
  for (const candidate of mergeOrder(await candidatesOf(deps, open, forecast)))
    done.push(await takeOn(deps, train, candidate));
  return { tip: train.tip, before: (await before) ?? null, workers: done, forecast };
}

interface Train {
  readonly begin: string;
  readonly before: () => Promise<RanCheck | null>;
  readonly forecast: readonly ForecastConflict[];
  tip: string;
  readonly kept: Candidate[];
  readonly aside: Map<string, Candidate>;
}

async function takeOn(deps: MergeResultsDeps, train: Train, candidate: Candidate): Promise<MergedWorker> {
  const { work, signal } = deps;
  const { worker, commit, message } = candidate;
  const setAside = (why: Pick<MergedWorker, "reason"> & Partial<MergedWorker>): MergedWorker => {
    train.aside.set(worker, candidate);
    return { ...plain(candidate), outcome: "set aside", ...why };
  };
  const missing = candidate.buildsOn.filter((other) => train.aside.has(other));
  if (missing.length > 0)
    return setAside({
      reason: { code: "BUILDS_ON_SET_ASIDE", message: `it is built on ${missing.join(", ")}, set aside` },
      with: missing,
    });

  const merged = await work.merge({ ours: train.tip, theirs: commit, message }, signal);
  if (merged.kind === "conflict") {
    const others = train.forecast.flatMap(({ one, other }) =>
      one === worker ? [other] : other === worker ? [one] : [],
    );
    const rivals = others.filter((other) => train.kept.some((kept) => kept.worker === other));
    const whom = rivals.length > 0 ? rivals.join(", ") : "what it is merged upon";
    const reason = { code: "MERGE_CONFLICT", message: `it conflicts with ${whom}` } as const;
    return setAside({ reason, files: [...merged.files], with: rivals });
  }

  const check = await deps.check(merged.commit, worker);
  // Where the check was red before, being red says nothing of this one.
  if (isGreen(check) || !isGreen(await train.before())) {
    train.tip = merged.commit;
    train.kept.push(candidate);
    return { ...plain(candidate), outcome: "merged", mergedAs: merged.commit, check };
  }
  return setAside({ ...(await blame(deps, train, candidate)), check });
}

/** Whether it breaks the check by itself, or only together with others, and with whom. */
async function blame(
  { work, check, signal }: MergeResultsDeps,
  { begin, kept }: Train,
  { worker, commit, message, buildsOn }: Candidate,
): Promise<Pick<MergedWorker, "reason" | "with">> {
  const failed = { code: "CHECK_FAILED", message: "the check fails with it" } as const;
  const others = kept.filter((other) => !buildsOn.includes(other.worker));
  if (others.length === 0) return { reason: failed, with: [] };
  const alone = await work.merge({ ours: begin, theirs: commit, message }, signal);
  if (alone.kind === "conflict" || !isGreen(await check(alone.commit, `${worker} alone`)))
    return { reason: failed, with: [] };
  const together = (names: string): MergedWorker["reason"] => ({
    code: "CHECK_FAILED_TOGETHER",
    message: `the check passes with it alone, and fails together with ${names}`,
  });
  for (const other of others) {
    const pair = await work.merge(
      { ours: alone.commit, theirs: other.commit, message: other.message },
      signal,
    );
    if (pair.kind === "conflict") continue;
    if (!isGreen(await check(pair.commit, `${worker} with ${other.worker}`)))
      return { reason: together(other.worker), with: [other.worker] };
  }
  const names = others.map((other) => other.worker);
  return { reason: together(`several of ${names.join(", ")}`), with: names };
}

/** What is not checked is not red. */
function isGreen(check: RanCheck | null): boolean {
  return check === null || check.exitCode === 0;
}

function plain({ worker, commit }: Result): Omit<MergedWorker, "outcome"> {
  return { worker, commit, mergedAs: null, reason: null, files: [], with: [], check: null };
}

async function candidatesOf(
  { work, signal }: MergeResultsDeps,
  results: readonly Result[],
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
  results: readonly Result[],
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
