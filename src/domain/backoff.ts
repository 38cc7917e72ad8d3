const firstMs = 250;
const maxMs = 30_000;

/**
 * Returns the delay before the next retry in milliseconds: exponential backoff up to 30 s, with jitter.
 * `random`, from 0 to 1, chooses a delay between half of the backoff and all of it, so that clients do not
 * all retry at once.
 */
export function backoffMs(failures: number, random: number): number {
  const most = Math.min(maxMs, firstMs * 2 ** Math.max(0, Math.min(failures - 1, 30)));
  return Math.round(most / 2 + (most / 2) * random);
}
