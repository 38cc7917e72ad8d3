import { setTimeout as delay } from "node:timers/promises";

const shortestMs = 1;
const maxMs = 25;
/**
 * After this share of `waitMs`, a process polls more often again. Otherwise a process that has waited long
 * would lose against new ones, which poll often.
 */
const patientShare = 0.25;
const patientMs = 4;

/**
 * Polls until `ask` returns an answer; returns undefined after `waitMs`. The intervals grow (backoff) and
 * vary (jitter), so that many waiters do not poll at the same moment.
 */
export async function pollUntilAnswer<Answer>(
  ask: () => Promise<Answer | undefined>,
  waitMs: number,
  signal?: AbortSignal,
): Promise<Answer | undefined> {
  const begun = performance.now();
  const end = begun + waitMs;
  for (let pauseMs = shortestMs; ; pauseMs = Math.min(maxMs, pauseMs * 1.5)) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined || performance.now() >= end) return answer;
    if (performance.now() - begun > waitMs * patientShare) pauseMs = patientMs;
    await delay(pauseMs * (0.5 + Math.random()), undefined, signal && { signal });
  }
}
