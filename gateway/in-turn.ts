import { setTimeout as delay } from "node:timers/promises";

/** Runs CPU-bound work in one queue per worker. Resolves with the result of the work. */
export type WorkerQueue = <Result>(worker: string, work: () => Result) => Promise<Result>;

const longMs = 20;
const restTimes = 3;

/**
 * Opens the queues. Decoding a few compressed kilobytes can take a second. After long work, the worker's
 * queue therefore pauses for three times the work's duration, so that the gateway can serve other workers.
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
