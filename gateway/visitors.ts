import type { Duplex } from "node:stream";

/** Who has a connection. One sandbox cannot take those of all others, with a token or without. */
export interface Visitors {
  /** Of too many who have shown nothing yet, the one that stands there longest must go. */
  came(socket: Duplex): void;
  /** It has shown this worker's token. Whether there was room for one more of that worker. */
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
      // It belongs to whose token it showed first.
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
