import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { openGatewayProxy } from "../adapter/gateway-proxy.ts";
import { sandboxSocketPath } from "../gateway/accounts/gateway-paths.ts";
import { runGateway } from "../gateway/run-gateway.ts";
import { type AskedAnswer, answerPieces } from "./model-answers.ts";

const complain = (line: string): void => void process.stderr.write(`${line}\n`);
const betweenEventsMs = 10;

/** The stations between an agent and its model, each a process of its own. They tell where they are, and end with who started them. */
const stations: Readonly<Record<string, (place: string, other: string) => Promise<string>>> = {
  async gateway(own, door) {
    const paths = { own, shared: door };
    const stopped = new AbortController();
    const addresses = [{ socket: sandboxSocketPath(paths) }];
    void runGateway({ paths, addresses, version: "bench", stopped: stopped.signal, complain });
    return sandboxSocketPath(paths);
  },

  /** The loopback of a sandbox, and the way from there to the door. */
  async loopback(socketFile) {
    const port = await freePort();
    await openGatewayProxy({ port, socketFile }, complain);
    return String(port);
  },

  async model() {
    let begun: (() => void)[] = [];
    const together = (count: number): Promise<void> =>
      new Promise((resolve) => {
        begun.push(resolve);
        if (begun.length < count) return;
        for (const goOn of begun) goOn();
        begun = [];
      });
    const server = createServer(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { metadata: AskedAnswer };
      await answer(body.metadata, response, together);
    });
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return String((server.address() as AddressInfo).port);
  },
};

async function answer(
  asked: AskedAnswer,
  response: ServerResponse,
  together: (count: number) => Promise<void>,
): Promise<void> {
  const [first, ...others] = answerPieces(asked);
  if (!asked.isStream) {
    response.writeHead(200, { "content-type": "application/json", "content-length": first.length });
    response.end(first);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(first);
  await together(asked.together);
  for (const piece of others) {
    response.write(piece);
    await delay(betweenEventsMs);
  }
  response.end();
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createSocketServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

process.once("disconnect", () => process.exit());
const [station = "", place = "", other = ""] = process.argv.slice(2);
const open = stations[station];
if (!open) throw new Error(`There is no such station: ${station}`);
process.send?.(await open(place, other));
