/** The observed growth of a size towards its limit. */
export interface Growth {
  readonly grownBytes: number;
  readonly inMs: number;
  /** The bytes that are left below the limit. */
  readonly leftBytes: number;
}

/**
 * The delay until the next check: half of the time in which the rest fills up at this pace, so that the size passes its
 * limit by little between two checks. At least `minMs`, since checks cost time; at most `maxMs`, since the pace can change.
 */
export function nextPollMs(
  { grownBytes, inMs, leftBytes }: Growth,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  if (grownBytes <= 0) return maxMs;
  const untilFullMs = (Math.max(0, leftBytes) * inMs) / grownBytes;
  return Math.min(maxMs, Math.max(minMs, untilFullMs / 2));
}
