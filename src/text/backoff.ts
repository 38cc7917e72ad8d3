const firstMs = 250;
const maxMs = 30_000;

/**
 * Returns the delay in milliseconds before the next retry: exponential backoff up to 30 s, with jitter. The
 * number `random`, from 0 to 1, sets the delay between half of the backoff and the full backoff.
 */
export function backoffMs(failures: number, random: number): number {
  const most = Math.min(maxMs, firstMs * 2 ** Math.max(0, Math.min(failures - 1, 30)));
  return Math.round(most / 2 + (most / 2) * random);
}
