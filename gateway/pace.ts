/**
 * Limits the rate of each worker's requests with a token bucket, because the gateway journals each request and the
 * disk is finite.
 */
export interface TokenBuckets {
  /** Takes one token of the worker's bucket. Returns false if the bucket is empty. */
  allows(worker: string): boolean;
}

export interface TokenBucketOptions {
  readonly maxBurst: number;
  readonly perSecond: number;
}

/** Opens a full bucket for each worker. `now`: a monotonic clock, in milliseconds. */
export function openTokenBuckets(
  { maxBurst, perSecond }: TokenBucketOptions,
  now: () => number,
): TokenBuckets {
  const leftByWorker = new Map<string, { readonly left: number; readonly at: number }>();
  return {
    allows(worker) {
      const at = now();
      const before = leftByWorker.get(worker) ?? { left: maxBurst, at };
      const left = Math.min(maxBurst, before.left + ((at - before.at) / 1000) * perSecond);
      if (left < 1) return false;
      leftByWorker.set(worker, { left: left - 1, at });
      return true;
    },
  };
}
