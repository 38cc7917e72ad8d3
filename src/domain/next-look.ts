/**
 * The observed growth of a size, such as a disk usage, towards its limit: by `grownBytes` within `inMs`
 * milliseconds.
 */
export interface SizeGrowth {
  readonly grownBytes: number;
  readonly inMs: number;
  /** The number of bytes left below the limit. */
  readonly remainingBytes: number;
}

/**
 * Returns the delay until the next check of a growing size: half of the time after which the size would reach
 * its limit at the observed pace. `minMs` limits the cost of checks; `maxMs` limits how late a check notices
 * faster growth.
 */
export function nextPollMs(
  { grownBytes, inMs, remainingBytes }: SizeGrowth,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  if (grownBytes <= 0) return maxMs;
  const untilFullMs = (Math.max(0, remainingBytes) * inMs) / grownBytes;
  return Math.min(maxMs, Math.max(minMs, untilFullMs / 2));
}
