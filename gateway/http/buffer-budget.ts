import { CountByWorker } from "./count-by-worker.ts";

/** Opens a memory lease for one request of the given worker. Disposal of the lease frees all of its bytes. */
export type OpenBufferLease = (worker: string) => BufferLease;

export interface BufferLease extends Disposable {
  /**
   * Adds the given number of bytes to the lease. Returns false, and adds none, if the memory limits do not
   * allow them.
   */
  take(bytes: number): boolean;
}

export interface BufferBudgetOptions {
  readonly maxBytesPerWorker: number;
  readonly maxBytes: number;
  /**
   * The number of bytes that each worker may always use, even if the workers together have used up
   * `maxBytes`.
   */
  readonly guaranteedBytes: number;
}

/** Limits the memory for the bodies of all requests that the gateway handles at the same time. */
export function createBufferBudget({
  maxBytesPerWorker,
  maxBytes,
  guaranteedBytes,
}: BufferBudgetOptions): OpenBufferLease {
  const taken = new CountByWorker();
  let takenByAll = 0;
  return (worker) => {
    let mine = 0;
    return {
      take(bytes) {
        const own = taken.of(worker) + bytes;
        const isThere =
          own <= guaranteedBytes || (own <= maxBytesPerWorker && takenByAll + bytes <= maxBytes);
        if (!isThere) return false;
        mine += bytes;
        takenByAll += bytes;
        taken.add(worker, bytes);
        return true;
      },
      [Symbol.dispose]() {
        takenByAll -= mine;
        taken.add(worker, -mine);
        mine = 0;
      },
    };
  };
}
