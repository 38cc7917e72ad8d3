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
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", end);
        resolve();
      }, ms);
      signal.addEventListener("abort", end, { once: true });
    }),
};
