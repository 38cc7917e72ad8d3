/** Which credentials may not call for a while, because their API said so. */
export interface Limits {
  /** The time, in milliseconds since 1970, until which nothing is asked of it; null when it may be. */
  until(endpoint: string): number | null;
  /** Whether this is news. */
  limit(endpoint: string, until: number): boolean;
  /** Whether it was not told yet that this worker meets the present limit. */
  isNewTo(endpoint: string, worker: string): boolean;
}

/** A limit that moves by less than this is the same one. */
const sameMs = 2_000;

export function openLimits(now: () => number): Limits {
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
