import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { test } from "../../fakes/folders.ts";
import { ask, startUpstream, type Upstream, workerToken } from "../../fakes/gateway/gateway.ts";
import { goodRequest, head } from "../../fakes/gateway/hostile-requests.ts";
import { openConnection } from "../../fakes/gateway/raw-connection.ts";

const mebibyte = 1 << 20;
const clients = 24;
const bodyBytes = 10 * mebibyte;
const program = new URL("../../fakes/gateway/gateway-process.ts", import.meta.url);

async function heard(child: ChildProcess): Promise<{ readonly door?: string; readonly rss?: number }> {
  const [message] = (await once(child, "message")) as [{ door?: string; rss?: number }];
  return message;
}

async function memoryOf(child: ChildProcess): Promise<number> {
  const answer = heard(child);
  child.send("how much?");
  return (await answer).rss ?? Number.NaN;
}

/** An answer without an end, as fast as it is taken. */
function endless(): Promise<Upstream> {
  return startUpstream((request, response) => {
    if (request.headers["x-mark"] === "good")
      return void request.resume().on("end", () => response.end("{}"));
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
      response.once("drain", more);
    };
    response.on("error", () => {}).writeHead(200);
    more();
  });
}

/** What a gateway's memory grows by while it is attacked, and how it answers then. */
async function attacked(
  folder: string,
  bytes: number,
): Promise<{ readonly growth: number; readonly status: number }> {
  await using upstream = await endless();
  await mkdir(folder, { recursive: true });
  const bounds = { bufferBudget: { maxBytesPerWorker: bytes, maxBytes: bytes, guaranteedBytes: 1000 } };
  const child = fork(program, [folder, upstream.url, JSON.stringify(bounds)], { execArgv: ["--expose-gc"] });
  try {
    const { door = "" } = await heard(child);
    const before = await memoryOf(child);
    const large = [`x-api-key: ${workerToken("one")}`, `content-length: ${bodyBytes + 1}`];
    const piece = Buffer.alloc(bodyBytes / 10, "x");
    const senders = Array.from({ length: clients }, () => openConnection(door).resume());
    await Promise.all(
      senders.map(async (socket) => {
        socket.write(head({ headers: large }));
        for (let sent = 0; sent < 10 && !socket.destroyed; sent += 1)
          await new Promise<void>((resolve) => {
            socket.once("close", resolve).write(piece, () => resolve());
          });
      }),
    );
    // They read nothing at all, and one says ten thousand things meanwhile.
    const silent = Array.from({ length: 64 }, () => openConnection(door));
    for (const socket of silent) socket.write(goodRequest);
    const loud = openConnection(door);
    loud.write(head({ headers: ["x-api-key: wrong"] }).repeat(10_000));
    const { status } = await ask(door, { worker: "good", headers: { "x-mark": "good" } });
    const growth = (await memoryOf(child)) - before;
    for (const socket of [...senders, ...silent, loud]) socket.destroy();
    return { growth, status };
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

describe("the memory of a gateway", () => {
  test("has a bound, whatever is sent and not read; without one it takes all that is sent", {
    timeout: 60_000,
  }, async ({ folder }) => {
    const bounded = await attacked(join(folder, "bounded"), 2 * bodyBytes);
    const boundless = await attacked(join(folder, "boundless"), Number.MAX_SAFE_INTEGER);

    expect(bounded.status).toBe(200);
    expect(bounded.growth).toBeLessThan(120 * mebibyte);
    expect(boundless.growth).toBeGreaterThan(clients * bodyBytes * 0.8);
  });
});
