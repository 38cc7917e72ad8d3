/** A result that may be merged. */
export interface MergeCandidate {
  readonly worker: string;
  /** The workers whose results are in it. */
  readonly buildsOn: readonly string[];
  /** How many other results it conflicts with. */
  readonly conflicts: number;
  /** Changed lines. */
  readonly size: number;
}

/**
 * The order of a train: first what others are built on, then what conflicts with the fewest, then what is smallest: so that
 * what has to be set aside is as little as can be.
 */
export function mergeOrder<Candidate extends MergeCandidate>(candidates: readonly Candidate[]): Candidate[] {
  const ordered: Candidate[] = [];
  const left = [...candidates];
  const isIn = (list: readonly MergeCandidate[], worker: string): boolean =>
    list.some((other) => other.worker === worker);
  while (left.length > 0) {
    const free = left.filter(({ buildsOn }) => !buildsOn.some((other) => isIn(left, other)));
    // Commits cannot be built on each other; whoever says so is taken as he comes.
    const [next] = (free.length > 0 ? free : left).toSorted(
      (one, other) => one.conflicts - other.conflicts || one.size - other.size,
    );
    if (!next) break;
    ordered.push(next);
    left.splice(left.indexOf(next), 1);
  }
  return ordered;
}
