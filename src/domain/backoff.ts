const firstMs = 250;
const longestMs = 30_000;

/**
 * How long to wait before the next try after so many failures: twice as long each time, at most 30 s, and at random between
 * half of it and all, so that many who lost the same thing do not come back at once. `random` is from 0 to 1.
 */
export function backoffMs(failures: number, random: number): number {
  const most = Math.min(longestMs, firstMs * 2 ** Math.max(0, Math.min(failures - 1, 30)));
  return Math.round(most / 2 + (most / 2) * random);
}
