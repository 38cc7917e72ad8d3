/**
 * Limits the request rate of each worker with a token bucket. Without a limit, the journal, which records
 * each request, could fill the disk.
 */
export interface TokenBuckets {
  /** Takes one token from the bucket of the given worker. Returns false if the bucket is empty. */
  allows(worker: string): boolean;
}

export interface TokenBucketOptions {
  readonly maxBurst: number;
  readonly perSecond: number;
}

/** Creates a full token bucket for each worker. `now` returns a monotonic time in milliseconds. */
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
