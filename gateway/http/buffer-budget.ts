/** Limits the memory for the bodies of all requests that the gateway handles at the same time. */
export interface BufferBudget {
  /**
   * Opens a memory lease for one request of the given worker. Disposal of the lease frees all of its bytes.
   */
  open(worker: string): BufferLease;
}

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

export function createBufferBudget({
  maxBytesPerWorker,
  maxBytes,
  guaranteedBytes,
}: BufferBudgetOptions): BufferBudget {
  const takenByWorker = new Map<string, number>();
  let takenByAll = 0;
  const change = (worker: string, bytes: number): void => {
    takenByAll += bytes;
    const taken = (takenByWorker.get(worker) ?? 0) + bytes;
    if (taken > 0) takenByWorker.set(worker, taken);
    else takenByWorker.delete(worker);
  };
  return {
    open(worker) {
      let mine = 0;
      return {
        take(bytes) {
          const own = (takenByWorker.get(worker) ?? 0) + bytes;
          const isThere =
            own <= guaranteedBytes || (own <= maxBytesPerWorker && takenByAll + bytes <= maxBytes);
          if (!isThere) return false;
          mine += bytes;
          change(worker, bytes);
          return true;
        },
        [Symbol.dispose]() {
          change(worker, -mine);
          mine = 0;
        },
      };
    },
  };
}
