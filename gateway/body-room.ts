/** The buffer budget: limits the memory for the bodies of all requests in flight. */
export interface BufferBudget {
  /**
   * Opens a lease of memory for one request of this worker. Disposing of the lease frees all of its bytes.
   */
  open(worker: string): BufferLease;
}

export interface BufferLease extends Disposable {
  /** Takes this number of additional bytes. Returns false, and takes none, if the budget does not allow them. */
  take(bytes: number): boolean;
}

export interface BufferBudgetOptions {
  readonly maxBytesPerWorker: number;
  readonly maxBytes: number;
  /** The number of bytes that each worker may use, even if other workers have used up `maxBytes`. */
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
