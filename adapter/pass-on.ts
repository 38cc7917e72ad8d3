import { connect, createServer, type Socket } from "node:net";

/** Connections that are open at once, at most: an agent may ask for as many as it likes. */
const mostConnections = 512;

/**
 * Listens on the loopback of a sandbox that has no network, and passes everything on to a socket that it sees. What comes
 * through is nobody's business here.
 */
export async function passOn(
  { port, socketFile }: { readonly port: number; readonly socketFile: string },
  complain: (line: string) => void,
): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  // Small pieces go on at once: else the end of an answer waits for somebody to acknowledge its beginning, 40 ms each time.
  const options = { allowHalfOpen: true, pauseOnConnect: true, noDelay: true };
  const server = createServer(options, (client) => {
    const door = connect({ path: socketFile, allowHalfOpen: true });
    const end = (): void => {
      client.destroy();
      door.destroy();
    };
    for (const socket of [client, door]) {
      open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        open.delete(socket);
        // Whatever the other one still has to say is said first.
        (socket === client ? door : client).end();
      });
    }
    door.once("connect", () => {
      client.pipe(door);
      door.pipe(client);
      client.resume();
    });
  });
  server.maxConnections = mostConnections;
  server.on("error", (error) => complain(`the way to the gateway: ${error.message}`));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
