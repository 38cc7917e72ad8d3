import { setTimeout as delay } from "node:timers/promises";

/**
 * Runs a worker's CPU-intensive functions one after another. Resolves with the result of the given function.
 */
export type RunInWorkerQueue = <Result>(worker: string, work: () => Result) => Promise<Result>;

const longMs = 20;
const restTimes = 3;

/**
 * Creates a queue for each worker. After a long function, the worker's queue pauses for three times the
 * function's duration, so that the gateway can serve other workers meanwhile.
 */
export function createCpuQueuePerWorker(): RunInWorkerQueue {
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
