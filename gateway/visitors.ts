import type { Duplex } from "node:stream";

/** Limits connections, so that one sandbox cannot exhaust them for the others, with or without a token. */
export interface Visitors {
  /** Adds an unauthenticated connection; destroys the oldest one when there are too many. */
  came(socket: Duplex): void;
  /** Admits a connection that presented this worker's token; false when the worker has too many. */
  isWelcome(socket: Duplex, worker: string): boolean;
}

export interface VisitorBounds {
  readonly mostStrangers: number;
  readonly mostConnectionsPerWorker: number;
}

export function openVisitors({ mostStrangers, mostConnectionsPerWorker }: VisitorBounds): Visitors {
  const strangers = new Set<Duplex>();
  const welcome = new WeakSet<Duplex>();
  const countByWorker = new Map<string, number>();
  return {
    came(socket) {
      strangers.add(socket);
      socket.once("close", () => strangers.delete(socket));
      const [longest] = strangers;
      if (strangers.size > mostStrangers) longest?.destroy();
      if (longest?.destroyed) strangers.delete(longest);
    },
    isWelcome(socket, worker) {
      // A connection counts for the worker whose token it presented first.
      if (welcome.has(socket)) return true;
      const count = countByWorker.get(worker) ?? 0;
      if (count >= mostConnectionsPerWorker) return false;
      if (socket.destroyed) return true;
      strangers.delete(socket);
      welcome.add(socket);
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
