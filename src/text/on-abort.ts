/** Calls `run` once when the signal is aborted, or at once if the signal is already aborted. */
export function onAbort(signal: AbortSignal, run: () => void): Disposable {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", run) };
}
