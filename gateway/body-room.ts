/** The memory that requests may take which are under way. */
export interface BodyRoom {
  /** Room for one request of this worker; what it took is free again when it is disposed. */
  open(worker: string): OpenRoom;
}

export interface OpenRoom extends Disposable {
  /** Whether there is room for so many bytes more. */
  take(bytes: number): boolean;
}

export interface RoomBounds {
  readonly mostBytesPerWorker: number;
  readonly mostBytes: number;
  /** So much every worker always has: others cannot take it away. */
  readonly alwaysBytes: number;
}

export function openBodyRoom({ mostBytesPerWorker, mostBytes, alwaysBytes }: RoomBounds): BodyRoom {
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
            own <= alwaysBytes || (own <= mostBytesPerWorker && takenByAll + bytes <= mostBytes);
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
