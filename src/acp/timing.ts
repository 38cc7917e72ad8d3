/** A clock and a source of random numbers, passed in so that a test can replace them. */
export interface ClockAndRandom {
  /** Returns monotonic time in milliseconds. */
  now(): number;
  /** Returns wall-clock time. */
  date(): Date;
  /** Returns a random number from 0 to 1. */
  random(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal is aborted first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The real clock and random numbers of this machine. */
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
