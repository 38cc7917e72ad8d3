/** A worker's result that `swarm merge` may merge, with the data that decides the order. */
export interface MergeCandidate {
  readonly worker: string;
  /** The names of the workers whose commits this result already contains. */
  readonly buildsOn: readonly string[];
  /** The number of other workers' results with which this result conflicts. */
  readonly conflicts: number;
  /** The number of lines that the worker changed in this result. */
  readonly size: number;
}

/**
 * Sorts workers' results into the order in which `swarm merge` merges them. A result comes after all results
 * that it contains; otherwise those with the fewest conflicts come first, then the smallest. In this order,
 * the merge leaves out few results.
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
