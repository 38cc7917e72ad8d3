/**
 * How fast a size, such as a disk usage, grows towards its limit: by `grownBytes` in the last `inMs`
 * milliseconds.
 */
export interface SizeGrowth {
  readonly grownBytes: number;
  readonly inMs: number;
  /** The number of bytes that are left until the size reaches its limit. */
  readonly remainingBytes: number;
}

/**
 * Returns the delay in milliseconds until the next check of a growing size: half of the time in which the
 * size would reach its limit at the observed pace. The delay is between `minMs`, which limits the cost of
 * checks, and `maxMs`, after which a check notices faster growth.
 */
export function nextSizeCheckDelayMs(
  { grownBytes, inMs, remainingBytes }: SizeGrowth,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  if (grownBytes <= 0) return maxMs;
  const untilFullMs = (Math.max(0, remainingBytes) * inMs) / grownBytes;
  return Math.min(maxMs, Math.max(minMs, untilFullMs / 2));
}
