import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import type { NumberedLines } from "./numbered-lines.ts";
import { jsonLines } from "./text-lines.ts";
import { waitUntilDrained } from "./wait-until-drained.ts";

/**
 * The maximum length of a message from the host. The longest message is a task request, which contains a
 * whole task file.
 */
const maxRequestLength = 8 << 20;

export interface JournalClient {
  /**
   * Sends a line to this client without storing it in the journal. Drops the line if the client reads too
   * slowly.
   */
  send(line: string): void;
  /**
   * Sends a line to this client that must not be dropped. The line waits in an unlimited queue until the
   * client reads it.
   */
  sendQueued(line: string): void;
}

export interface JournalServerDeps {
  readonly journal: NumberedLines;
  /** Returns the first line, or the first lines, to send to a client that connects. */
  readonly hello: () => string;
  readonly onMessage: (message: unknown, listener: JournalClient) => void;
}

/**
 * A server that sends the lines of a journal to each client that connects. A client says which line it
 * received last; it gets the later lines, and then new ones.
 */
export interface JournalServer extends AsyncDisposable {
  readonly count: number;
  /**
   * Sends a line to all clients without storing it in the journal. Drops the line for a client that reads too
   * slowly.
   */
  broadcast(line: string): void;
  /**
   * Sends a line to all clients without storing it in the journal. For a client that reads too slowly, the
   * line waits in an unlimited queue.
   */
  broadcastQueued(line: string): void;
}

export async function openJournalServer(path: string, deps: JournalServerDeps): Promise<JournalServer> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const attached = new Set<JournalClient>();
  const sockets = new Set<Socket>();
  const closing = new AbortController();

  const server = createServer((socket) => {
    sockets.add(socket);
    const gone = new AbortController();
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      gone.abort();
    });
    const sendQueued = (line: string): void => {
      if (!socket.destroyed) socket.write(`${line}\n`);
    };
    const listener: JournalClient = {
      sendQueued,
      send: (line) => {
        if (!socket.writableNeedDrain) sendQueued(line);
      },
    };
    serve(socket, listener, gone.signal)
      .catch(() => {})
      .finally(() => {
        attached.delete(listener);
        socket.destroy();
      });
  });

  async function serve(socket: Socket, listener: JournalClient, gone: AbortSignal): Promise<void> {
    let isGreeted = false;
    for await (const message of jsonLines(socket, { maxLength: maxRequestLength })) {
      if (isGreeted) {
        deps.onMessage(message, listener);
        continue;
      }
      const from = fromOf(message);
      if (from === null) return;
      isGreeted = true;
      socket.write(`${deps.hello()}\n`);
      // The hello says how many lines the journal has. A client that has more lines has another journal, so
      // end the connection.
      if (from > deps.journal.lastSeq) {
        socket.end();
        return;
      }
      attached.add(listener);
      void send(socket, from, AbortSignal.any([gone, closing.signal])).catch(() => socket.destroy());
    }
  }

  async function send(socket: Socket, from: number, signal: AbortSignal): Promise<void> {
    for await (const lines of deps.journal.read(from, signal)) {
      if (!socket.write(lines)) await waitUntilDrained(socket, signal);
    }
  }

  await once(server.listen(path), "listening");
  // A connection that cannot be accepted, for example for lack of descriptors, ends no process.
  server.on("error", () => {});
  await chmod(path, 0o600);
  return {
    get count() {
      return attached.size;
    },
    broadcast(line) {
      for (const listener of attached) listener.send(line);
    },
    broadcastQueued(line) {
      for (const listener of attached) listener.sendQueued(line);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      const closed = once(server.close(), "close");
      // Flush the written lines. Disconnect a client that does not read them within a second.
      for (const socket of sockets) socket.destroySoon();
      const patience = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, 1_000);
      await closed;
      clearTimeout(patience);
    },
  };
}

function fromOf(message: unknown): number | null {
  const from = typeof message === "object" && message !== null && "from" in message ? message.from : null;
  return typeof from === "number" && Number.isSafeInteger(from) && from >= 0 ? from : null;
}
