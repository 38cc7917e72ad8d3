/** Clock and randomness, passed in so that a test can replace them. */
export interface Timing {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Wall-clock time. */
  date(): Date;
  /** Random number from 0 to 1. */
  random(): number;
  /** Resolves after the time; rejects with the signal's reason when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Clock and randomness of this machine. */
export const realTiming: Timing = {
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
