import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, ListenOptions } from "node:net";
import { join, posix } from "node:path";

export interface RedirectingEngine extends AsyncDisposable {
  readonly endpoint: string;
  /** Every request that came, as `GET /containers/x/json`. */
  readonly asked: string[];
  /** Where every request is sent on to; null as the daemon does it: only paths that are not clean, to what they clean to. */
  elsewhere: { readonly status: number; readonly location: string } | null;
}

/** Answers a path that is not clean with 301 and the clean one, as the daemon's router does; knows nothing else but itself. */
export async function redirectingEngine(folder: string): Promise<RedirectingEngine> {
  const path = join(folder, "redirecting.sock");
  const server = await listening({ path }, (request, response) => {
    const url = request.url ?? "/";
    engine.asked.push(`${request.method} ${url}`);
    request.resume();
    const [pathname = "/", search] = url.split("?");
    const clean = posix.normalize(pathname);
    const head = { "api-version": "1.47", "content-type": "application/json" };
    const isOwn = ["/_ping", "/info"].includes(pathname);
    if (engine.elsewhere && !isOwn)
      response.writeHead(engine.elsewhere.status, { ...head, location: engine.elsewhere.location });
    else if (clean !== pathname)
      response.writeHead(301, { ...head, location: search === undefined ? clean : `${clean}?${search}` });
    else response.writeHead(isOwn ? 200 : 404, head);
    response.end(isOwn ? JSON.stringify({ ID: "it", Runtimes: { runc: {} }, NCPU: 2 }) : '{"message":"no"}');
  });
  const engine: RedirectingEngine = {
    ...{ endpoint: `unix://${path}`, asked: [], elsewhere: null },
    [Symbol.asyncDispose]: () => closed(server),
  };
  return engine;
}

export interface Outside extends AsyncDisposable {
  readonly port: number;
  /** How many connections came from others, with all that were begun before it was asked. */
  connections(): Promise<number>;
}

/** A host on the network that the engine is not. */
export async function listenOutside(): Promise<Outside> {
  const server = await listening({ port: 0, host: "127.0.0.1" }, (request, response) => {
    request.resume();
    response.end("{}");
  });
  const { port } = server.address() as AddressInfo;
  let [all, own] = [0, 0];
  server.on("connection", () => {
    all += 1;
  });
  return {
    port,
    async connections() {
      own += 1;
      const seen = once(server, "connection");
      const answer = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: "close" } });
      await Promise.all([seen, answer.text()]);
      return all - own;
    },
    [Symbol.asyncDispose]: () => closed(server),
  };
}

async function listening(where: ListenOptions, answer: RequestListener): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(where, resolve));
  return server;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}
