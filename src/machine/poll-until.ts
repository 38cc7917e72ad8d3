import { setTimeout as delay } from "node:timers/promises";

const shortestMs = 1;
const maxMs = 25;
/**
 * The share of `waitMs` after which a process polls more often again. Otherwise new processes, which poll
 * often at first, would usually acquire the lock before a process that has waited long.
 */
const patientShare = 0.25;
const patientMs = 4;

export interface PollOptions {
  readonly waitMs: number;
  /** The interval; by default, the intervals are those of a process that waits for a lock. */
  readonly everyMs?: number;
}

/**
 * Calls `ask` repeatedly until it returns an answer; returns undefined after `waitMs`. The intervals of a
 * process that waits for a lock grow (backoff) and vary at random (jitter), so that many waiting processes do
 * not poll at the same moment.
 */
export async function pollUntilAnswer<Answer>(
  ask: () => Promise<Answer | undefined>,
  { waitMs, everyMs }: PollOptions,
  signal?: AbortSignal,
): Promise<Answer | undefined> {
  const begun = performance.now();
  const end = begun + waitMs;
  for (let pauseMs = shortestMs; ; pauseMs = Math.min(maxMs, pauseMs * 1.5)) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined || performance.now() >= end) return answer;
    if (performance.now() - begun > waitMs * patientShare) pauseMs = patientMs;
    await delay(everyMs ?? pauseMs * (0.5 + Math.random()), undefined, signal && { signal });
  }
}
