/** A worker's result that may be merged. */
export interface MergeCandidate {
  readonly worker: string;
  /** The workers whose results this result contains. */
  readonly buildsOn: readonly string[];
  /** The number of other results with which this result conflicts. */
  readonly conflicts: number;
  /** The number of lines that this result changes. */
  readonly size: number;
}

/**
 * Sorts results into the order in which the merge adds them: each result after those that it builds on, then
 * results with the fewest conflicts first, then the smallest first. In this order, the merge leaves out few
 * results.
 */
export function mergeOrder<Candidate extends MergeCandidate>(candidates: readonly Candidate[]): Candidate[] {
  const ordered: Candidate[] = [];
  const left = [...candidates];
  const isIn = (list: readonly MergeCandidate[], worker: string): boolean =>
    list.some((other) => other.worker === worker);
  while (left.length > 0) {
    const free = left.filter(({ buildsOn }) => !buildsOn.some((other) => isIn(left, other)));
    // Commits cannot build on each other in a cycle. If the candidates claim a cycle, ignore `buildsOn`.
    const [next] = (free.length > 0 ? free : left).toSorted(
      (one, other) => one.conflicts - other.conflicts || one.size - other.size,
    );
    if (!next) break;
    ordered.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return ordered;
}
