import { connect, createServer, type Socket } from "node:net";

/**
 * The maximum number of open connections to the gateway. Without this limit, an agent could open any number.
 */
const maxConnections = 512;

/**
 * Opens a TCP proxy on the loopback interface, for a sandbox without a network. Forwards all bytes of each
 * connection unchanged to the gateway's Unix socket.
 */
export async function openGatewayProxy(
  { port, socketFile }: { readonly port: number; readonly socketFile: string },
  complain: (line: string) => void,
): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  // Turns Nagle's algorithm off (`noDelay`): with it, the end of an answer waits about 40 ms for the ACK of the
  // beginning.
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
        // Closes the other socket with `end`, which sends that socket's pending data first.
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
  server.on("error", (error) => complain(`the proxy to the gateway failed: ${error.message}`));
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
