/**
 * Calls `work` every `ms` milliseconds, but skips a call while the previous one is in progress. Returns a
 * function that stops the calls.
 */
export function runPeriodically(ms: number, work: () => Promise<unknown>): () => void {
  let isBusy = false;
  const begin = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    await work().finally(() => {
      isBusy = false;
    });
  };
  const timer = setInterval(() => void begin(), ms);
  return () => clearInterval(timer);
}
