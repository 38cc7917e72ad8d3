import type { Duplex } from "node:stream";
import { CountByWorker } from "../http/count-by-worker.ts";

export interface WorkerSlotLimits {
  /** The maximum number of open requests and tunnels of one worker, both counted together. */
  readonly maxPerWorker: number;
  readonly connections: { readonly maxUnauthenticated: number; readonly maxConnectionsPerWorker: number };
  /**
   * The rate limit for the requests of each worker. It keeps the gateway's journal, which records each
   * request, from filling the disk.
   */
  readonly requestRate: { readonly maxBurst: number; readonly perSecond: number };
}

/** Limits the gateway's client connections and requests, so that one sandbox cannot use up all of them. */
export interface WorkerSlots {
  /**
   * Adds a new, unauthenticated connection. If there are then too many such connections, destroys the oldest
   * of them.
   */
  add(socket: Duplex): void;
  /**
   * Counts a connection as the worker's, after the client has sent the worker's token. Returns false if the
   * worker already has the maximum number of connections.
   */
  admit(socket: Duplex, worker: string): boolean;
  /**
   * Takes a slot for a request or a tunnel of the worker. Returns null if the worker has too many open, or
   * sends requests too fast. Disposal frees the slot.
   */
  take(worker: string): Disposable | null;
}

export function createWorkerSlots({ maxPerWorker, connections, requestRate }: WorkerSlotLimits): WorkerSlots {
  const unauthenticated = new Set<Duplex>();
  const authenticated = new WeakSet<Duplex>();
  const openConnections = new CountByWorker();
  const openSlots = new CountByWorker();
  /** The token bucket of each worker: how many requests it may send at the given time. */
  const bucketByWorker = new Map<string, { readonly left: number; readonly at: number }>();

  /** Takes one token from the worker's bucket. Returns false if the bucket is empty. */
  function takeToken(worker: string): boolean {
    const at = performance.now();
    const before = bucketByWorker.get(worker) ?? { left: requestRate.maxBurst, at };
    const refilled = before.left + ((at - before.at) / 1000) * requestRate.perSecond;
    const left = Math.min(requestRate.maxBurst, refilled);
    if (left < 1) return false;
    bucketByWorker.set(worker, { left: left - 1, at });
    return true;
  }

  return {
    add(socket) {
      unauthenticated.add(socket);
      socket.once("close", () => unauthenticated.delete(socket));
      const [oldest] = unauthenticated;
      if (unauthenticated.size > connections.maxUnauthenticated) oldest?.destroy();
      if (oldest?.destroyed) unauthenticated.delete(oldest);
    },
    admit(socket, worker) {
      // A connection counts for the worker whose token the client presented first.
      if (authenticated.has(socket)) return true;
      if (openConnections.of(worker) >= connections.maxConnectionsPerWorker) return false;
      if (socket.destroyed) return true;
      unauthenticated.delete(socket);
      authenticated.add(socket);
      openConnections.add(worker, 1);
      socket.once("close", () => openConnections.add(worker, -1));
      return true;
    },
    take(worker) {
      if (openSlots.of(worker) >= maxPerWorker || !takeToken(worker)) return null;
      openSlots.add(worker, 1);
      return { [Symbol.dispose]: () => openSlots.add(worker, -1) };
    },
  };
}
