/** The maximum delay that `setTimeout` accepts. With a longer delay, the timer fires at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Calls `ring` after `ms` milliseconds, or after almost 25 days if `ms` is longer. Disposing stops the alarm. */
export function alarmAfter(ms: number, ring: () => void): Disposable {
  const timer = setTimeout(ring, Math.min(Math.max(0, ms), maxTimerMs));
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
