/** Time and chance, given by the caller so that a test can have its own. */
export interface Timing {
  /** Milliseconds that never go back. */
  now(): number;
  /** What a clock on the wall shows. */
  date(): Date;
  /** From 0 to 1. */
  random(): number;
  /** Rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** This machine's. */
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
