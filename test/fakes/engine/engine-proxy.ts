import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";

export interface ProxyOptions {
  /** Where the real engine answers. */
  readonly endpoint: string;
  /** A path for the proxy's own socket. */
  readonly socket: string;
  /** What a request to create a container is turned into. */
  readonly changeCreate?: (options: Docker.ContainerCreateOptions) => Docker.ContainerCreateOptions;
  /** Sees each request, as `POST /containers/create?name=x`, before the engine does. */
  readonly onRequest?: (line: string) => Promise<void> | void;
  /** Answers a request in the engine's place; null for those that it is to answer itself. */
  readonly answer?: (request: IncomingMessage) => ((answer: ServerResponse) => Promise<void>) | null;
  /** Takes over a connection that is to be a program's streams; false where the engine has the program. */
  readonly join?: (request: IncomingMessage, client: Duplex) => boolean;
  /** Told when the engine has begun to answer it. The client has the answer's head by then, unless that is all of it. */
  readonly onAnswer?: (line: string) => Promise<void> | void;
}

export interface EngineProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Every request that came, in order. */
  readonly lines: readonly string[];
  /** All its connections break off, and nobody listens any more: what clients see of a daemon that is killed. */
  die(): void;
}

/** Stands between a client and an engine, and does to their talk what a test wants done. */
export async function engineProxy(options: ProxyOptions): Promise<EngineProxy> {
  const target = options.endpoint.replace("unix://", "");
  const lines: string[] = [];
  const connections = new Set<Duplex>();
  const remember = <Connection extends Duplex>(connection: Connection): Connection => {
    connections.add(connection);
    connection.on("error", () => {}).on("close", () => connections.delete(connection));
    return connection;
  };
  const see = async (request: IncomingMessage): Promise<string> => {
    const line = `${request.method} ${request.url}`;
    lines.push(line);
    await options.onRequest?.(line);
    return line;
  };

  const server = createServer(async (request, answer) => {
    const line = await see(request);
    if (request.socket.destroyed) return;
    const own = options.answer?.(request) ?? null;
    if (own !== null) return own(answer);
    const { changeCreate } = options;
    const changed =
      changeCreate && line.startsWith("POST /containers/create")
        ? JSON.stringify(changeCreate(JSON.parse((await request.toArray()).join(""))))
        : null;
    const passed = httpRequest({
      ...{ socketPath: target, path: request.url, method: request.method, agent: false },
      headers: {
        ...request.headers,
        ...(changed !== null && { "content-length": Buffer.byteLength(changed) }),
      },
    });
    passed.on("error", () => request.socket.destroy());
    passed.on("response", (real) => passAnswer(real, answer, async () => options.onAnswer?.(line)));
    answer.on("close", () => passed.destroy());
    if (changed === null) request.on("error", () => passed.destroy()).pipe(passed);
    else passed.end(changed);
  });

  server.on("upgrade", async (request: IncomingMessage, client: Duplex, head: Buffer) => {
    const line = await see(request);
    if (client.destroyed || options.join?.(request, remember(client))) return;
    const engine = remember(connect(target));
    engine.on("close", () => client.destroy());
    client.on("close", () => engine.destroy());
    const fields = request.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
    );
    engine.write(`${line} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
    engine.write(head);
    client.pipe(engine);
    const first = await readHead(engine);
    client.write(first);
    await options.onAnswer?.(line);
    engine.pipe(client);
  });

  server.on("connection", remember);
  await new Promise<void>((resolve) => server.listen(options.socket, resolve));

  const die = (): void => {
    server.close();
    for (const connection of connections) connection.destroy();
  };
  return {
    ...{ endpoint: `unix://${options.socket}`, lines, die },
    [Symbol.asyncDispose]: async () => die(),
  };
}

/** What answers that the connection is now the program's, without what follows. */
async function readHead(engine: Duplex): Promise<Buffer> {
  const end = "\r\n\r\n";
  let read = Buffer.alloc(0);
  while (!read.includes(end)) {
    const bytes: Buffer | null = engine.read();
    if (bytes) read = Buffer.concat([read, bytes]);
    else if (engine.destroyed) return read;
    else
      await new Promise<void>((resolve) => {
        engine.once("readable", resolve).once("close", resolve);
      });
  }
  const length = read.indexOf(end) + end.length;
  engine.unshift(read.subarray(length));
  return read.subarray(0, length);
}

/** An answer that breaks off breaks off here too. */
async function passAnswer(
  real: IncomingMessage,
  answer: ServerResponse,
  begun: () => Promise<void>,
): Promise<void> {
  const { statusCode = 500, headers } = real;
  real.on("error", () => answer.destroy());
  const isEmpty = statusCode === 204 || statusCode === 304 || headers["content-length"] === "0";
  if (isEmpty) await begun();
  answer.writeHead(statusCode, headers);
  answer.flushHeaders();
  if (!isEmpty) await begun();
  real.pipe(answer);
}
