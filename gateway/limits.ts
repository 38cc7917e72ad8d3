/** The rate limits of model endpoints that are in force now, as the APIs' answers stated them. */
export interface RateLimitTracker {
  /** Returns the end of an endpoint's rate limit, in milliseconds since 1970; null if the endpoint has none. */
  findLimitEnd(endpoint: string): number | null;
  /**
   * Sets an endpoint's rate limit. Returns false if the limit in force ends at about the same time or later;
   * that limit then stays.
   */
  setLimit(endpoint: string, until: number): boolean;
  /**
   * Returns true the first time that a worker's call meets the endpoint's current limit, and false each later
   * time.
   */
  isNewTo(endpoint: string, worker: string): boolean;
}

/** The minimum time, in milliseconds, by which a new limit must end later to replace the limit in force. */
const sameMs = 2_000;

export function createRateLimitTracker(now: () => number): RateLimitTracker {
  const untilByName = new Map<string, number>();
  const metByName = new Map<string, Set<string>>();
  return {
    findLimitEnd(endpoint) {
      const until = untilByName.get(endpoint);
      return until !== undefined && until > now() ? until : null;
    },
    setLimit(endpoint, until) {
      const known = untilByName.get(endpoint);
      if (known !== undefined && known > now() && until < known + sameMs) return false;
      untilByName.set(endpoint, until);
      metByName.delete(endpoint);
      return true;
    },
    isNewTo(endpoint, worker) {
      const met = metByName.get(endpoint) ?? new Set();
      metByName.set(endpoint, met);
      return met.size < met.add(worker).size;
    },
  };
}
