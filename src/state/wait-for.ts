import { setTimeout as delay } from "node:timers/promises";

const shortestMs = 1;
const longestMs = 25;
/** After this share of its time one asks more often again: else there could always be somebody quicker. */
const patientShare = 0.25;
const patientMs = 4;

/**
 * Asks again and again, first soon and then less often, until there is an answer or the time is over (undefined).
 * The pauses are random, so that many who wait do not all ask at once.
 */
export async function waitFor<Answer>(
  ask: () => Promise<Answer | undefined>,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Answer | undefined> {
  const begun = performance.now();
  const end = begun + waitMs;
  for (let pauseMs = shortestMs; ; pauseMs = Math.min(longestMs, pauseMs * 1.5)) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined || performance.now() >= end) return answer;
    if (performance.now() - begun > waitMs * patientShare) pauseMs = patientMs;
    await delay(pauseMs * (0.5 + Math.random()), undefined, signal && { signal });
  }
}
