/**
 * Runs `work` every `ms` milliseconds, and returns a function that stops the repetition. Skips a run while
 * the previous run of `work` is in progress.
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
