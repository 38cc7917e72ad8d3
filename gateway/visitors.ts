import type { Duplex } from "node:stream";

/** Limits connections, so that one sandbox cannot exhaust them for the others, with or without a token. */
export interface ConnectionLimits {
  /** Adds an unauthenticated connection; destroys the oldest one when there are too many. */
  add(socket: Duplex): void;
  /** Admits a connection that presented this worker's token; false when the worker has too many. */
  admit(socket: Duplex, worker: string): boolean;
}

export interface ConnectionBounds {
  readonly maxUnauthenticated: number;
  readonly maxConnectionsPerWorker: number;
}

export function openConnectionLimits({
  maxUnauthenticated,
  maxConnectionsPerWorker,
}: ConnectionBounds): ConnectionLimits {
  const unauthenticated = new Set<Duplex>();
  const authenticated = new WeakSet<Duplex>();
  const countByWorker = new Map<string, number>();
  return {
    add(socket) {
      unauthenticated.add(socket);
      socket.once("close", () => unauthenticated.delete(socket));
      const [oldest] = unauthenticated;
      if (unauthenticated.size > maxUnauthenticated) oldest?.destroy();
      if (oldest?.destroyed) unauthenticated.delete(oldest);
    },
    admit(socket, worker) {
      // A connection counts for the worker whose token it presented first.
      if (authenticated.has(socket)) return true;
      const count = countByWorker.get(worker) ?? 0;
      if (count >= maxConnectionsPerWorker) return false;
      if (socket.destroyed) return true;
      unauthenticated.delete(socket);
      authenticated.add(socket);
      countByWorker.set(worker, count + 1);
      socket.once("close", () => {
        const left = (countByWorker.get(worker) ?? 1) - 1;
        if (left > 0) countByWorker.set(worker, left);
        else countByWorker.delete(worker);
      });
      return true;
    },
  };
}
