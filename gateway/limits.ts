/** The rate limits in force, by endpoint. */
export interface RateLimits {
  /** The end of the endpoint's limit, in milliseconds since 1970; null when there is none. */
  until(endpoint: string): number | null;
  /** Sets a limit; false when the same one is in force already. */
  limit(endpoint: string, until: number): boolean;
  /** Whether this worker meets the current limit for the first time. */
  isNewTo(endpoint: string, worker: string): boolean;
}

/** The tolerance within which two limits count as the same. */
const sameMs = 2_000;

export function openRateLimits(now: () => number): RateLimits {
  const untilByName = new Map<string, number>();
  const metByName = new Map<string, Set<string>>();
  return {
    until(endpoint) {
      const until = untilByName.get(endpoint);
      return until !== undefined && until > now() ? until : null;
    },
    limit(endpoint, until) {
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
