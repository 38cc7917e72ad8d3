/** A rate limit per worker (a token bucket): each request is journalled, and the disk is finite. */
export interface TokenBuckets {
  /** Takes one token; false when the worker has none left. */
  allows(worker: string): boolean;
}

export interface TokenBucketBounds {
  readonly maxAtOnce: number;
  readonly perSecond: number;
}

/** `now`: a monotonic clock, in milliseconds. */
export function openTokenBuckets(
  { maxAtOnce, perSecond }: TokenBucketBounds,
  now: () => number,
): TokenBuckets {
  const leftByWorker = new Map<string, { readonly left: number; readonly at: number }>();
  return {
    allows(worker) {
      const at = now();
      const before = leftByWorker.get(worker) ?? { left: maxAtOnce, at };
      const left = Math.min(maxAtOnce, before.left + ((at - before.at) / 1000) * perSecond);
      if (left < 1) return false;
      leftByWorker.set(worker, { left: left - 1, at });
      return true;
    },
  };
}
