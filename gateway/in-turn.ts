import { setTimeout as delay } from "node:timers/promises";

/** Runs CPU-bound work in a separate queue for each worker, and resolves with the work's result. */
export type WorkerQueue = <Result>(worker: string, work: () => Result) => Promise<Result>;

const longMs = 20;
const restTimes = 3;

/**
 * Opens the queues. Decoding a few compressed kilobytes can take a second, so after long work a worker's queue pauses
 * for three times the work's duration, in which the gateway serves the other workers.
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
