/** The rate limits of model endpoints that are currently in force, as the APIs have stated them. */
export interface RateLimitTracker {
  /**
   * Returns the end of an endpoint's current rate limit, in milliseconds since 1970; null if the endpoint has
   * none.
   */
  findLimitEnd(endpoint: string): number | null;
  /**
   * Sets an endpoint's rate limit to end at `until`. Returns false and changes nothing if the current limit
   * ends later or at about the same time.
   */
  setLimit(endpoint: string, until: number): boolean;
  /**
   * Returns true when a worker meets the endpoint's current rate limit for the first time, and false each
   * later time.
   */
  isNewTo(endpoint: string, worker: string): boolean;
}

/** How much later, in milliseconds, a new rate limit must end to replace the current limit. */
const sameMs = 2_000;

export function createRateLimitTracker(now: () => number): RateLimitTracker {
  const limits = new Map<string, { readonly until: number; readonly met: Set<string> }>();
  const findLimitEnd = (endpoint: string): number | null => {
    const { until } = limits.get(endpoint) ?? { until: 0 };
    return until > now() ? until : null;
  };
  return {
    findLimitEnd,
    setLimit(endpoint, until) {
      const known = findLimitEnd(endpoint);
      if (known !== null && until < known + sameMs) return false;
      limits.set(endpoint, { until, met: new Set() });
      return true;
    },
    isNewTo(endpoint, worker) {
      const { met } = limits.get(endpoint) ?? { met: new Set() };
      return met.size < met.add(worker).size;
    },
  };
}
