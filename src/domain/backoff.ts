const firstMs = 250;
const maxMs = 30_000;

/**
 * Exponential backoff with jitter: the delay doubles with each failure up to 30 s, and is drawn between half of it and all
 * of it, so that clients that lost the same service do not all retry at once. `random` is from 0 to 1.
 */
export function backoffMs(failures: number, random: number): number {
  const most = Math.min(maxMs, firstMs * 2 ** Math.max(0, Math.min(failures - 1, 30)));
  return Math.round(most / 2 + (most / 2) * random);
}
