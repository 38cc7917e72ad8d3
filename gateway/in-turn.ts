import { setTimeout as delay } from "node:timers/promises";

/** Runs CPU-bound work in one queue per worker. */
export type WorkerQueue = <Result>(worker: string, work: () => Result) => Promise<Result>;

const longMs = 20;
const restTimes = 3;

/**
 * A few compressed kilobytes can take a second to decode. So work that took long is followed by a rest of three
 * times its duration in that worker's queue, in which the other workers are served.
 */
export function openWorkerQueue(): WorkerQueue {
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
