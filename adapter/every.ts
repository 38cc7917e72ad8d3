/**
 * Repeats `work` at an interval of `ms`, and returns a function that stops it. Skips an interval if the previous run
 * of `work` has not ended.
 */
export function repeatEvery(ms: number, work: () => Promise<unknown>): () => void {
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
