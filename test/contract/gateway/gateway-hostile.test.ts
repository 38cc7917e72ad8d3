import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { count } from "../../counts.ts";
import { eventually } from "../../fakes/eventually.ts";
import { test } from "../../fakes/folders.ts";
import {
  admissionOf,
  admittedWorker,
  ask,
  endpointAt,
  messageOf,
  realKey,
  startGateway,
  startUpstream,
  type Upstream,
  workerToken,
} from "../../fakes/gateway/gateway.ts";
import {
  goodCall,
  goodRequest,
  type HostileRequest,
  head,
  spoiltRequest,
  within,
  writtenRequests,
} from "../../fakes/gateway/hostile-requests.ts";
import {
  expectAllCounted,
  expectClean,
  linesOf,
  shortBounds,
  standUp,
} from "../../fakes/gateway/hostile-world.ts";
import { httpProxy, rawProxy } from "../../fakes/gateway/naive-proxy.ts";
import { type Listening, openConnection, speakRaw } from "../../fakes/gateway/raw-connection.ts";

const json = { "content-type": "application/json" };
const atOnce = 100;

/** Makes all of them, many at once, each with a mark by which it is known again. */
async function makeAll(door: string, attacks: readonly HostileRequest[]): Promise<void> {
  const left = attacks.map((attack, mark) => ({ attack, mark })).toReversed();
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { attack, mark } = next;
      const marked = attack.pieces.map((piece) =>
        typeof piece === "string"
          ? piece.replaceAll("host: door\r\n", `host: door\r\nx-mark: ${mark}\r\n`)
          : piece,
      );
      await speakRaw(door, ...marked);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** What came of each that may not come of it. */
function unexpected(attacks: readonly HostileRequest[], { requests }: Upstream): unknown[] {
  const byMark = Map.groupBy(requests, ({ headers }) => Number(headers["x-mark"] ?? -1));
  return [...byMark].flatMap(([mark, made]) => {
    const { reaches = "counted", name = "" } = attacks[mark] ?? {};
    const most = { nothing: 0, one: 1, counted: Number.POSITIVE_INFINITY }[reaches];
    return made.length > most ? [{ name, urls: made.map(({ method, url }) => `${method} ${url}`) }] : [];
  });
}

describe("requests that were made to get more than they may", () => {
  test(`${writtenRequests.length} written by hand: none gets it`, { timeout: 60_000 }, async ({ folder }) => {
    await using world = await standUp(folder, { bounds: shortBounds });
    const { gateway, upstream, complaints } = world;

    await makeAll(gateway.door, writtenRequests);

    expect(unexpected(writtenRequests, upstream)).toEqual([]);
    expectClean(upstream);
    await expectAllCounted(gateway, upstream);
    expect(upstream.requests.length).toBeGreaterThan(50);
    expect((await linesOf(gateway)).filter(({ type }) => type === "refused").length).toBeLessThan(500);
    expect(complaints).toEqual([]);
    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
  });

  test(`${count.hostileRequests} good ones that were spoilt: none gets it`, { timeout: 600_000 }, async ({
    folder,
  }) => {
    await using world = await standUp(folder, { bounds: shortBounds });
    const { gateway, upstream, complaints } = world;
    const attacks = fc.sample(spoiltRequest, { numRuns: count.hostileRequests, seed: 20_26 });

    await makeAll(gateway.door, attacks);

    expectClean(upstream);
    await expectAllCounted(gateway, upstream);
    // Some are still good, and some are not.
    expect(upstream.requests.length).toBeGreaterThan(count.hostileRequests / 20);
    expect(complaints).toEqual([]);
    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
  });
});

/** Whether the other end is there shows when something is said to it: having heard its last word is not enough. */
function stillOpen(sockets: readonly Socket[]): readonly Socket[] {
  for (const socket of sockets) if (!socket.destroyed) socket.write("x");
  return sockets.filter((socket) => !socket.destroyed);
}

describe("a client that behaves badly", () => {
  test("leaves at each moment of its request: nothing is left open, and nobody complains", async ({
    folder,
  }) => {
    await using world = await standUp(folder);
    const { gateway, upstream, complaints } = world;

    await Promise.all(
      Array.from({ length: goodRequest.length + 1 }, async (_unused, end) => {
        const socket = openConnection(gateway.door);
        socket.write(goodRequest.slice(0, end), () => socket.destroy());
        await once(socket, "close");
      }),
    );

    expect((await ask(gateway.door)).status).toBe(200);
    await expectAllCounted(gateway, upstream);
    expect(complaints).toEqual([]);
  });

  test("leaves at each piece of the answer: each call counts as the most that it may have been", async ({
    folder,
  }) => {
    const pieces = 12;
    await using world = await standUp(folder, {
      async listener(request, response) {
        response.on("error", () => {}).writeHead(200, { "content-type": "text/event-stream" });
        response.write(
          'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,"output_tokens":1}}}\n\n',
        );
        for await (const _piece of request);
        for (let piece = 0; piece < pieces && !response.destroyed; piece += 1) {
          response.write(`data: {"type":"ping","piece":"<${piece}>"}\n\n`);
          await nextTurn();
        }
      },
    });
    const { gateway, upstream, complaints } = world;

    await Promise.all(
      Array.from({ length: pieces }, async (_unused, last) => {
        const socket = openConnection(gateway.door);
        socket.write(goodRequest);
        let heard = "";
        for await (const piece of socket) {
          heard += String(piece);
          if (heard.includes(`<${last}>`)) break;
        }
        socket.destroy();
      }),
    );

    await expectAllCounted(gateway, upstream);
    const closed = await gateway.told("closed", pieces);
    expect(closed.map(({ isEstimated, spent }) => [isEstimated, spent.outputTokens])).toEqual(
      closed.map(() => [true, 5]),
    );
    expect(complaints).toEqual([]);
  });

  test("reads nothing of two answers on one connection, and leaves: both calls are closed", async ({
    folder,
  }) => {
    await using world = await standUp(folder, {
      listener: (_request, response) => {
        response.on("error", () => {}).writeHead(200, json);
        const more = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          response.once("drain", more);
        };
        more();
      },
    });
    const { gateway, upstream } = world;
    const socket = openConnection(gateway.door);
    socket.write(goodRequest.repeat(2));
    await eventually("both have arrived", async () => (upstream.requests.length === 2 ? true : null));

    socket.destroy();

    expect((await gateway.told("closed", 2)).map(({ isEstimated }) => isEstimated)).toEqual([true, true]);
  });

  test("opens many connections and says nothing: everybody else still comes in", async ({ folder }) => {
    await using world = await standUp(folder, {
      bounds: {
        connections: { maxUnauthenticated: 50, maxConnectionsPerWorker: 9 },
      },
    });
    const { gateway } = world;
    const open = new Set<Socket>();
    for (let opened = 0; opened < 300; opened += 1) {
      const socket = openConnection(gateway.door).resume();
      open.add(socket.once("close", () => open.delete(socket)));
      await once(socket, "connect");
    }

    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
    await eventually("the others are gone", async () => (stillOpen([...open]).length <= 50 ? true : null));
    for (const socket of open) socket.destroy();
  });

  test("shows its token and keeps many connections: it has so many, and no more", async ({ folder }) => {
    await using world = await standUp(folder, {
      bounds: { idleMs: 60_000, connections: { maxUnauthenticated: 50, maxConnectionsPerWorker: 5 } },
    });
    const { gateway } = world;
    const get = goodCall("/m/anthropic/v1/messages");
    const sockets = Array.from({ length: 9 }, () => openConnection(gateway.door));

    const answers = await Promise.all(
      sockets.map(async (socket) => {
        socket.write(get);
        const [piece] = (await once(socket, "data")) as [Buffer];
        return piece.toString().split(" ")[1];
      }),
    );

    expect(answers.toSorted()).toEqual([...Array(5).fill("200"), ...Array(4).fill("429")]);
    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await eventually("it may come in again", async () =>
      (await ask(gateway.door)).status === 200 ? true : null,
    );
  });

  test("is told no, and stays: its connection does not; a server by the book keeps it", async ({
    folder,
  }) => {
    await using world = await standUp(folder);
    await using naive = await httpProxy(9, {});
    const garbage = "garbage\r\n\r\n";
    const tunnel = head({ method: "CONNECT", target: "evil.example:443", headers: [] });
    const speak = (place: Listening, said: string): Socket[] =>
      Array.from({ length: 50 }, () => {
        const socket = openConnection(place).resume();
        socket.write(said);
        return socket;
      });
    const refused = [...speak(world.gateway.door, garbage), ...speak(world.gateway.door, tunnel)];
    const left = speak(naive.port, garbage);
    await Promise.all([...refused, ...left].map((socket) => once(socket, "end")));

    await eventually("they are closed", async () => (stillOpen(refused).length === 0 ? true : null));

    expect(stillOpen(left)).toHaveLength(50);
    for (const socket of left) socket.destroy();
  });

  test("sends much at once: the memory for it ends, for itself and for nobody else", async ({ folder }) => {
    const waiting = new Set<ServerResponse>();
    await using world = await standUp(folder, {
      bounds: {
        bufferBudget: { maxBytesPerWorker: 1_000_000, maxBytes: 1_000_000, guaranteedBytes: 50_000 },
      },
      listener: (request, response) => {
        request.resume().on("end", () => {
          if (request.headers["x-mark"] === undefined) response.writeHead(200, json).end(messageOf(1, 1));
          else waiting.add(response);
        });
      },
    });
    const { gateway } = world;
    const large = { model: "m", max_tokens: 5, system: "x".repeat(300_000) };
    const asked = Array.from({ length: 8 }, () =>
      ask(gateway.door, { body: large, headers: { "x-mark": "1" } }),
    );
    const refused: number[] = [];
    for (const each of asked) void each.then(({ status }) => refused.push(status)).catch(() => {});

    await eventually("what there is no room for is refused", async () =>
      refused.length === 5 ? true : null,
    );

    expect(refused).toEqual([429, 429, 429, 429, 429]);
    await eventually("the others are passed on", async () => (waiting.size === 3 ? true : null));
    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
    for (const response of waiting) response.writeHead(200, json).end(messageOf(1, 1));
    await Promise.all(asked);
    await eventually("there is room again", async () =>
      (await ask(gateway.door, { body: large })).status === 200 ? true : null,
    );
  });

  test("sends its body byte by byte: the memory for that ends, too", async ({ folder }) => {
    await using upstream = await startUpstream((request, response) => {
      request.resume();
      response.end();
    });
    await using gateway = await startGateway(folder, {
      bounds: { bufferBudget: { maxBytesPerWorker: 1 << 20, maxBytes: 1 << 20, guaranteedBytes: 1 << 16 } },
    });
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));
    const head = [
      ...["POST /m/anthropic/v1/messages HTTP/1.1", "host: door", `x-api-key: ${workerToken("one")}`],
      ...["transfer-encoding: chunked", "connection: close", "", ""],
    ].join("\r\n");

    const heard = await speakRaw(gateway.door, head, "1\r\na\r\n".repeat(20_000));

    expect(heard).toMatch(/^HTTP\/1\.1 429 /);
    expect(upstream.requests).toHaveLength(0);
  });

  test("sends a small packed body that is large when it is unpacked: so it counts", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) => response.end());
    await using gateway = await startGateway(folder, {
      bounds: { bufferBudget: { maxBytesPerWorker: 1 << 20, maxBytes: 1 << 20, guaranteedBytes: 1 << 16 } },
    });
    await gateway.admit(admissionOf([endpointAt(upstream.url, { api: "openai" })]));
    const body = gzipSync(`{"model":"m","stream":true,"messages":[],"padding":"${"x".repeat(3 << 20)}"}`);
    const head = [
      ...["POST /m/anthropic/v1/chat/completions HTTP/1.1", "host: door", `x-api-key: ${workerToken("one")}`],
      ...["content-encoding: gzip", `content-length: ${body.length}`, "connection: close", "", ""],
    ].join("\r\n");

    const heard = await speakRaw(gateway.door, head, body);

    expect(heard).toMatch(/^HTTP\/1\.1 429 /);
    expect(upstream.requests).toHaveLength(0);
  });

  test("has a tunnel: the gateway ends all the same when it is asked to", async ({ folder }) => {
    const sent = Promise.withResolvers<void>();
    await using gateway = await startGateway(folder);
    await gateway.admit(
      admissionOf([], { workers: [admittedWorker("one", { allow: [{ host: "a.test", port: 443 }] })] }),
    );
    const auth = Buffer.from(`worker:${workerToken("one")}`).toString("base64");
    const request = `CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\nproxy-authorization: Basic ${auth}\r\n\r\n`;
    const socket = openConnection(gateway.door);
    socket.once("data", () => sent.resolve());
    socket.write(request);
    await sent.promise;

    await gateway[Symbol.asyncDispose]();

    expect(socket.destroyed || socket.readableEnded || (await once(socket, "close"))).toBeTruthy();
  });

  test("sends bodies that are costly to read: others are served between them", { timeout: 30_000 }, async ({
    folder,
  }) => {
    await using world = await standUp(folder);
    const { gateway } = world;
    const large = Buffer.concat([
      Buffer.from('{"model":"m","max_tokens":5,"messages":['),
      Buffer.alloc(2 << 20, '{"content":[{"a":1}]},'),
      Buffer.from('{"content":[]}]}'),
    ]);
    const bomb = gzipSync(large);
    const headers = [
      `x-api-key: ${workerToken("one")}`,
      ...["content-encoding: gzip", `content-length: ${bomb.length}`],
    ];
    const order: string[] = [];
    const bombs = Array.from({ length: 10 }, async () => {
      await speakRaw(gateway.door, head({ headers }), bomb);
      order.push("bomb");
    });
    await gateway.told("opened");

    await ask(gateway.door, { worker: "good" });
    order.push("good");
    await Promise.all(bombs);

    expect(bomb.length).toBeLessThan(30_000);
    expect(order.indexOf("good")).toBeLessThan(5);
  });

  test("goes on and on: what is written down of it grows slowly", async ({ folder }) => {
    await using world = await standUp(folder, { bounds: { requestRate: { maxBurst: 10, perSecond: 0 } } });
    const { gateway } = world;

    const statuses: number[] = [];
    for (let call = 0; call < 14; call += 1) statuses.push((await ask(gateway.door)).status);

    expect(statuses).toEqual([...Array(10).fill(200), ...Array(4).fill(429)]);
    expect((await ask(gateway.door, { worker: "good" })).status).toBe(200);
  });
});

describe("a budget that somebody wants to get around", () => {
  const budget = { usd: null, tokens: 1_000 };

  test("by bodies that are on their way while it is used up: none of them goes on", async ({ folder }) => {
    await using world = await standUp(folder, {
      ...{ bounds: { requestMs: 60_000, headersMs: 60_000 }, one: { budget: { usd: null, tokens: 50 } } },
      listener: (request, response) =>
        request.resume().on("end", () => response.writeHead(200, json).end(messageOf(0, 100))),
    });
    const { gateway, upstream } = world;
    const sockets = Array.from({ length: 50 }, () => openConnection(gateway.door));
    for (const socket of sockets) socket.write(goodRequest.slice(0, -3));
    await ask(gateway.door);

    const answers = await Promise.all(
      sockets.map(async (socket) => {
        socket.write(goodRequest.slice(-3));
        const [piece] = (await once(socket, "data")) as [Buffer];
        socket.destroy();
        return piece.toString().split(" ")[1];
      }),
    );

    expect(answers).toEqual(sockets.map(() => "403"));
    expect(upstream.requests).toHaveLength(1);
  });

  test("by many calls at once: it is exceeded by no more than eight of them", async ({ folder }) => {
    await using world = await standUp(folder, {
      one: { budget },
      listener: (request, response) =>
        request
          .resume()
          .on("end", () => setTimeout(() => response.writeHead(200, json).end(messageOf(0, 500)), 50)),
    });
    const { gateway, upstream } = world;

    const answers = await Promise.all(
      Array.from({ length: 100 }, () => ask(gateway.door, { body: { model: "m", max_tokens: 500 } })),
    );

    expect(upstream.requests.length * 500).toBeLessThanOrEqual(budget.tokens + 8 * 500);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(upstream.requests.length);
    expect((await ask(gateway.door)).status).toBe(403);
  });

  test("is told once for each of its ends, however many calls end at once", async ({ folder }) => {
    const answers: (() => void)[] = [];
    await using world = await standUp(folder, {
      one: { budget: { usd: 0.000_01, tokens: 10 } },
      listener: (request, response) =>
        request
          .resume()
          .on("end", () => answers.push(() => response.writeHead(200, json).end(messageOf(0, 100)))),
    });
    const { gateway } = world;
    const asked = Array.from({ length: 6 }, () => ask(gateway.door));
    await eventually("all have arrived", async () => (answers.length === 6 ? true : null));

    for (const answer of answers) answer();
    await Promise.all(asked);
    await gateway.told("closed", 6);
    // What would be told later than that comes before this one.
    const last = ask(gateway.door, { worker: "good" });
    (await eventually("it has arrived", async () => answers[6] ?? null))();
    await last;
    await gateway.told("closed", 7);

    const lines = await linesOf(gateway);
    expect(lines.filter(({ type }) => type === "budget")).toHaveLength(2);
  });
});

describe("a door on a network", () => {
  test("believes the address and not what a request says of it: another worker's token is worth nothing there", async ({
    folder,
  }) => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    const port = await freePort();
    await using gateway = await startGateway(folder, { addresses: [{ port }] });
    const workers = [
      admittedWorker("one", { address: "127.0.0.1" }),
      admittedWorker("two", { address: "10.213.0.10" }),
    ];
    await gateway.admit(admissionOf([endpointAt(upstream.url)], { workers }));
    const statusOf = async (
      worker: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> => {
      const asked = { "x-api-key": workerToken(worker), ...headers };
      return (await fetch(`http://127.0.0.1:${port}/m/anthropic/v1/models`, { headers: asked })).status;
    };

    const statuses = await Promise.all([
      statusOf("two"),
      statusOf("two", { "x-forwarded-for": "10.213.0.10", "x-real-ip": "10.213.0.10" }),
      statusOf("two", { forwarded: "for=10.213.0.10", via: "1.1 10.213.0.10" }),
    ]);

    expect(statuses).toEqual([403, 403, 403]);
    expect(upstream.requests).toHaveLength(0);
    expect(await statusOf("one")).toBe(200);
  });

  async function freePort(): Promise<number> {
    await using taken = await startUpstream(() => {});
    return Number(new URL(taken.url).port);
  }
});

describe("what agents are told", () => {
  test("git, which asks for a tunnel without a token first, is asked for one, and nothing is recorded", async ({
    folder,
  }) => {
    await using world = await standUp(folder);
    const { gateway } = world;

    const heard = await speakRaw(
      gateway.door,
      head({ method: "CONNECT", target: "allowed.example:443", headers: [] }),
    );

    expect(heard).toMatch(/^HTTP\/1\.1 407 /);
    expect(heard).toContain('\r\nproxy-authenticate: Basic realm="swarm"\r\n');
    expect((await linesOf(gateway)).filter(({ type }) => type === "refused")).toEqual([]);
  });

  test("who shows a token that is not known any more reads that its login failed", async ({ folder }) => {
    await using world = await standUp(folder);

    const { status, body } = await ask(world.gateway.door, { worker: "nobody" });

    expect(status).toBe(403);
    expect((JSON.parse(body) as { error: { message: string } }).error.message).toMatch(
      /authentication failed, invalid x-api-key/,
    );
  });

  test("a login is renewed in the name of the client that it belongs to", async ({ folder }) => {
    await using upstream = await startUpstream((request, response) => {
      const fresh = { access_token: "access-token-2", refresh_token: "refresh-token-2", expires_in: 3600 };
      response.writeHead(200, json).end(request.url === "/token" ? JSON.stringify(fresh) : messageOf(1, 1));
    });
    await using gateway = await startGateway(folder);
    const credential = {
      ...{
        kind: "login" as const,
        accessToken: "access-token-1",
        refreshToken: "refresh-token-1",
        expiresAt: 0,
      },
      ...{ refreshUrl: `${upstream.url}/token`, clientId: "client" },
    };
    await gateway.admit(admissionOf([endpointAt(upstream.url, { credential })]));

    await ask(gateway.door);

    expect(upstream.requests[0]).toMatchObject({ url: "/token" });
    expect(upstream.requests[0]?.headers["user-agent"]).toBe("claude-cli/2.1.326 (external, cli)");
  });

  test("a token in a path that leads nowhere is not written down", async ({ folder }) => {
    await using world = await standUp(folder);
    const { gateway } = world;

    await ask(gateway.door, {
      method: "GET",
      path: `/r/${workerToken("one")}/npm/../x`,
      headers: { "x-api-key": "" },
    });

    const [refused] = await gateway.told("refused");
    expect(refused?.what).toBe("GET /r/*/npm/../x");
  });
});

describe("the same attacks against a proxy that does without", () => {
  test("reading requests itself: a second one goes by uncounted", async () => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using naive = await rawProxy(Number(new URL(upstream.url).port));

    const socket = openConnection(naive.port).resume();
    socket.write(`${goodRequest}${within}`);
    await eventually("both arrived", async () => (upstream.requests.length === 2 ? true : null));
    socket.destroy();

    expect(naive.counted()).toBe(1);
    expect(upstream.requests[1]).toMatchObject({ url: "/m/anthropic/v1/models/smuggled" });
    expect(upstream.requests[1]?.headers["x-api-key"]).toBe(realKey);
  });

  test("looking at every spelling of a path: it leads out of the place it is for", async () => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using naive = await httpProxy(Number(new URL(upstream.url).port), {
      target: (asked) => new URL(asked.replace(/^\/m\/any/, "/base"), upstream.url).pathname,
    });

    const target = "/m/any/%2e%2e/secret";
    await speakRaw(naive.port, head({ method: "GET", target, headers: ["connection: close"] }));

    expect(upstream.requests[0]?.url).toBe("/secret");
  });

  test("decoding the names in a query: another account's key goes by", async () => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using naive = await httpProxy(Number(new URL(upstream.url).port), {
      target: (asked) => asked.replace(/([?&])key=[^&]*/g, "$1"),
    });

    await fetch(`http://127.0.0.1:${naive.port}/v1/models?%6bey=mine`).then((answer) => answer.text());

    expect(new URL(upstream.requests[0]?.url ?? "", upstream.url).searchParams.get("key")).toBe("mine");
  });

  const stars = (piece: Buffer): Buffer =>
    Buffer.from(piece.toString("latin1").replaceAll(realKey, "*"), "latin1");

  test("remembering the end of a piece: the key comes back in two", async () => {
    await using upstream = await startUpstream((_request, response) => {
      response.write(realKey.slice(0, 9));
      setImmediate(() => response.end(realKey.slice(9)));
    });
    await using naive = await httpProxy(Number(new URL(upstream.url).port), { scrub: stars });

    expect(await (await fetch(`http://127.0.0.1:${naive.port}/`)).text()).toContain(realKey);
  });

  test("unpacking an answer: the key comes back in it", async () => {
    await using upstream = await startUpstream((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(realKey)),
    );
    await using naive = await httpProxy(Number(new URL(upstream.url).port), { scrub: stars });

    expect(await (await fetch(`http://127.0.0.1:${naive.port}/`)).text()).toContain(realKey);
  });

  test("choosing what goes on: an agent asks for the key in parts", async () => {
    await using upstream = await startUpstream((request, response) => {
      const [, from = "0", to = "99"] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "") ?? [];
      response.writeHead(206).end(`${request.headers["x-api-key"]}`.slice(Number(from), Number(to) + 1));
    });
    await using naive = await httpProxy(Number(new URL(upstream.url).port), { scrub: stars });
    const part = async (range: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${naive.port}/`, { headers: { range } })).text();

    expect((await part("bytes=0-9")) + (await part("bytes=10-99"))).toBe(realKey);
  });
});
