/** A result that may be merged. */
export interface MergeCandidate {
  readonly worker: string;
  /** The workers whose results this one contains. */
  readonly buildsOn: readonly string[];
  /** The number of other results with which it conflicts. */
  readonly conflicts: number;
  /** The number of changed lines. */
  readonly size: number;
}

/**
 * The order of a merge train: a result comes before those that build on it; among the rest, those with the fewest conflicts
 * come first, then the smallest. So the merge sets aside as little as possible.
 */
export function mergeOrder<Candidate extends MergeCandidate>(candidates: readonly Candidate[]): Candidate[] {
  const ordered: Candidate[] = [];
  const left = [...candidates];
  const isIn = (list: readonly MergeCandidate[], worker: string): boolean =>
    list.some((other) => other.worker === worker);
  while (left.length > 0) {
    const free = left.filter(({ buildsOn }) => !buildsOn.some((other) => isIn(left, other)));
    // Commits cannot build on each other in a cycle; if candidates claim to, the claim is ignored.
    const [next] = (free.length > 0 ? free : left).toSorted(
      (one, other) => one.conflicts - other.conflicts || one.size - other.size,
    );
    if (!next) break;
    ordered.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return ordered;
}
