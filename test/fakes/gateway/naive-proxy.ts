import { createServer as createHttpServer, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { realKey, workerToken } from "./gateway.ts";

export interface NaiveProxy extends AsyncDisposable {
  readonly port: number;
  /** The calls that it believes it has passed on. */
  readonly counted: () => number;
}

/** Changes the token in what it sees, counts one call for each connection, and passes on every byte. */
export function rawProxy(upstreamPort: number): Promise<NaiveProxy> {
  let counted = 0;
  const server = createServer((client) => {
    const upstream = connect(upstreamPort, "127.0.0.1");
    counted += 1;
    client.on("data", (piece: Buffer) =>
      upstream.write(piece.toString("latin1").replaceAll(workerToken("one"), realKey), "latin1"),
    );
    client.on("end", () => upstream.end()).on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy()).pipe(client);
  });
  return listening(server, () => counted);
}

export interface NaiveRules {
  /** What the request's target becomes. */
  readonly target: (asked: string) => string;
  /** What becomes of each piece of an answer. */
  readonly scrub: (piece: Buffer) => Buffer;
  /** What of a request's headers goes on. */
  readonly headers: (asked: Readonly<Record<string, string>>) => Record<string, string>;
}

/** Passes calls on as one would write it down at first. */
export function httpProxy(upstreamPort: number, rules: Partial<NaiveRules>): Promise<NaiveProxy> {
  const { target = (asked) => asked, scrub = (piece) => piece, headers = (asked) => ({ ...asked }) } = rules;
  let counted = 0;
  const server = createHttpServer((asked, response: ServerResponse) => {
    const passed = headers(asked.headers as Readonly<Record<string, string>>);
    const asking = request(
      {
        ...{ port: upstreamPort, host: "127.0.0.1", method: asked.method, path: target(asked.url ?? "") },
        headers: { ...passed, "x-api-key": realKey },
      },
      (answer) => {
        counted += 1;
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("data", (piece: Buffer) => response.write(scrub(piece))).on("end", () => response.end());
      },
    );
    asking.on("error", () => response.destroy());
    asked.pipe(asking);
  });
  // As the documentation of the server has it.
  server.on("clientError", (_error, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  return listening(server, () => counted);
}

async function listening(server: Server, counted: () => number): Promise<NaiveProxy> {
  const sockets = new Set<{ destroy: () => void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, counted },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
