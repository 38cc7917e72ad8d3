import { connect, createServer, type Socket } from "node:net";

/** The maximum number of open connections: an agent may open as many as it likes. */
const maxConnections = 512;

/**
 * A loopback proxy in a sandbox without a network: forwards each connection to the gateway's Unix socket, and does not read
 * the bytes.
 */
export async function forwardToGateway(
  { port, socketFile }: { readonly port: number; readonly socketFile: string },
  complain: (line: string) => void,
): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  // `noDelay`, since with Nagle's algorithm the end of an answer waits for the ACK of its beginning, 40 ms each time.
  const options = { allowHalfOpen: true, pauseOnConnect: true, noDelay: true };
  const server = createServer(options, (client) => {
    const gateway = connect({ path: socketFile, allowHalfOpen: true });
    const end = (): void => {
      client.destroy();
      gateway.destroy();
    };
    for (const socket of [client, gateway]) {
      open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        open.delete(socket);
        // `end` sends the pending data of the other socket first.
        (socket === client ? gateway : client).end();
      });
    }
    gateway.once("connect", () => {
      client.pipe(gateway);
      gateway.pipe(client);
      client.resume();
    });
  });
  server.maxConnections = maxConnections;
  server.on("error", (error) => complain(`the proxy to the gateway: ${error.message}`));
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
