/** What was seen of something that grows towards a limit. */
export interface Growth {
  readonly grownBytes: number;
  readonly inMs: number;
  /** What is left up to the limit. */
  readonly leftBytes: number;
}

/**
 * How long until the next look: half of the time in which what is left fills up at this pace, so that a limit is not passed
 * by much between two looks; within a least, for looks are not free, and a most, for a pace can change.
 */
export function nextLookMs(
  { grownBytes, inMs, leftBytes }: Growth,
  { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number },
): number {
  if (grownBytes <= 0) return mostMs;
  const untilFullMs = (Math.max(0, leftBytes) * inMs) / grownBytes;
  return Math.min(mostMs, Math.max(leastMs, untilFullMs / 2));
}
