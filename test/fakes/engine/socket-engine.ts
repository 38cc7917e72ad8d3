import { createServer } from "node:http";
import { join } from "node:path";

interface Row {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface SocketEngine extends AsyncDisposable {
  readonly endpoint: string;
  readonly containers: (Row & { readonly id: string; state: string })[];
  readonly volumes: Row[];
  /** What it was asked, in order, without the search. */
  readonly asked: string[];
  id: string;
}

/** An engine that answers at a real socket, and knows lists and removals. */
export async function socketEngine(folder: string): Promise<SocketEngine> {
  const path = join(folder, "engine.sock");
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://engine");
    const what = `${request.method} ${pathname}`;
    engine.asked.push(what);
    const [, , kind, name = ""] = /^(DELETE) \/(containers|volumes)\/(.+)$/.exec(what) ?? [];
    const send = (status: number, body?: unknown): void => {
      response.writeHead(status, { "content-type": "application/json", "api-version": "1.47" });
      response.end(body === undefined ? "" : JSON.stringify(body));
    };
    if (kind !== undefined) {
      const list: Row[] = kind === "containers" ? engine.containers : engine.volumes;
      const at = list.findIndex((row) => row.name === name);
      if (at >= 0) list.splice(at, 1);
      return send(at >= 0 ? 204 : 404, at >= 0 ? undefined : { message: "no such thing" });
    }
    switch (what) {
      case "GET /_ping":
        return send(200, "OK");
      case "GET /info":
        return send(200, { ID: engine.id, Name: "test", Runtimes: {}, NCPU: 2, MemTotal: 1 });
      case "GET /containers/json":
        return send(
          200,
          engine.containers.map(({ id, name: own, state, labels }) => ({
            ...{ Id: id, Names: [`/${own}`], State: state, Labels: labels },
          })),
        );
      case "GET /volumes":
        return send(200, { Volumes: engine.volumes.map((row) => ({ Name: row.name, Labels: row.labels })) });
      case "GET /networks":
        return send(200, []);
      case "GET /images/json":
        return send(200, []);
      default:
        return send(404, { message: what });
    }
  });
  const engine: SocketEngine = {
    ...{ endpoint: `unix://${path}`, containers: [], volumes: [], asked: [], id: "test-engine" },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return engine;
}
