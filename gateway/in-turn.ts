import { setTimeout as delay } from "node:timers/promises";

/** What keeps this program busy, each worker's one after another. */
export type InTurn = <Result>(worker: string, work: () => Result) => Promise<Result>;

const longMs = 20;
const restTimes = 3;

/**
 * A body of a few kilobytes can be packed so that reading it takes a second. Whoever sends such waits for its own, and three
 * times as long as they took: everybody else is served meanwhile.
 */
export function openTurns(): InTurn {
  const lastByWorker = new Map<string, Promise<void>>();
  return async (worker, work) => {
    const before = lastByWorker.get(worker);
    const { promise: mine, resolve: leave } = Promise.withResolvers<void>();
    lastByWorker.set(worker, mine);
    await before;
    const begun = performance.now();
    try {
      return work();
    } finally {
      const ms = performance.now() - begun;
      const done = (): void => {
        leave();
        if (lastByWorker.get(worker) === mine) lastByWorker.delete(worker);
      };
      if (ms < longMs) done();
      else void delay(ms * restTimes).then(done);
    }
  };
}
