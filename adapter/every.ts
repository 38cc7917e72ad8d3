/** Does something again and again until it is called off. What takes longer than the time between is not done twice at once. */
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
