import { setTimeout as delay } from "node:timers/promises";

/**
 * A clock and a source of random numbers. Functions receive them as a parameter, so that a test can replace
 * them.
 */
export interface ClockAndRandom {
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
  /** Returns the current date and time of the wall clock. */
  date(): Date;
  /** Returns a random number from 0 up to, but not including, 1. */
  random(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason if the signal aborts first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The system's real clock and random numbers. */
export const systemClockAndRandom: ClockAndRandom = {
  now: () => performance.now(),
  date: () => new Date(),
  random: () => Math.random(),
  wait: (ms, signal) =>
    delay(ms, undefined, { signal }).catch(() => {
      throw signal.reason;
    }),
};
