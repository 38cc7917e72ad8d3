/** Repeats the work at an interval, until the caller calls the returned function. Skips a tick while the work still runs. */
export function every(ms: number, work: () => Promise<unknown>): () => void {
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
