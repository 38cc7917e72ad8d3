import type { Duplex } from "node:stream";

/**
 * Limits the gateway's client connections, before and after authentication, so that one sandbox cannot use up
 * all connections.
 */
export interface ConnectionLimiter {
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
}

export interface ConnectionLimiterOptions {
  readonly maxUnauthenticated: number;
  readonly maxConnectionsPerWorker: number;
}

export function createConnectionLimiter({
  maxUnauthenticated,
  maxConnectionsPerWorker,
}: ConnectionLimiterOptions): ConnectionLimiter {
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
      // A connection counts for the worker whose token the client presented first.
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
