/** The rate limits that model endpoints have now, as their answers stated. */
export interface RateLimits {
  /** Returns the end of an endpoint's rate limit, in milliseconds since 1970; null if the endpoint has none. */
  findLimitEnd(endpoint: string): number | null;
  /** Sets an endpoint's rate limit. Returns false if about the same limit is already in force. */
  setLimit(endpoint: string, until: number): boolean;
  /** Returns whether the worker meets the endpoint's current limit for the first time, and remembers that it has. */
  isNewTo(endpoint: string, worker: string): boolean;
}

/** The maximum difference between the ends of two limits that count as the same, in milliseconds. */
const sameMs = 2_000;

export function openRateLimits(now: () => number): RateLimits {
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
