import { setImmediate } from "node:timers/promises";
import type { ClockAndRandom } from "../../../src/protocol/clock-and-random.ts";

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** A clock that stands still until everybody waits. */
export interface FakeTiming extends ClockAndRandom {
  /** How long each wait was to be. */
  readonly waits: readonly number[];
  /** Lets time pass until the promise is settled. */
  runUntil<Result>(promise: Promise<Result>): Promise<Result>;
  /** Lets so much time pass. */
  advance(ms: number): Promise<void>;
}

export function fakeTiming({ random = () => 1 }: { random?: () => number } = {}): FakeTiming {
  const timers = new Set<Timer>();
  const waits: number[] = [];
  let now = 0;

  /** Nothing in these tests waits for anything but promises and this clock, so after a turn of the loop all are waiting. */
  const passUntil = async (end: number): Promise<void> => {
    await setImmediate();
    const [next] = [...timers].sort((a, b) => a.at - b.at);
    if (!next || next.at > end) {
      now = Math.max(now, Number.isFinite(end) ? end : now);
      return;
    }
    now = Math.max(now, next.at);
    timers.delete(next);
    next.fire();
  };

  return {
    waits,
    now: () => now,
    date: () => new Date(Date.UTC(2026, 0, 31) + now),
    random,
    wait: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        waits.push(ms);
        const end = (): void => {
          timers.delete(timer);
          reject(signal.reason);
        };
        const timer: Timer = {
          at: now + ms,
          fire: () => {
            signal.removeEventListener("abort", end);
            resolve();
          },
        };
        timers.add(timer);
        signal.addEventListener("abort", end, { once: true });
      }),

    async runUntil(promise) {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      promise.then(settle, settle);
      await setImmediate();
      while (!isSettled) await passUntil(Number.POSITIVE_INFINITY);
      return promise;
    },

    async advance(ms) {
      const end = now + ms;
      do await passUntil(end);
      while (now < end || [...timers].some(({ at }) => at <= end));
      await setImmediate();
    },
  };
}
