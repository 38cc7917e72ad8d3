import { appendFile, readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import type { ModelEndpoint } from "../../../src/contract/gateway.ts";
import { zeroSpending } from "../../../src/usage/spending.ts";
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
  workerToken,
} from "../../fakes/gateway/gateway.ts";

const json = { "content-type": "application/json" };

describe("a call of a model", () => {
  test("goes on with the real key in place of the token, and is counted", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) =>
      response.writeHead(200, json).end(messageOf(1000, 100)),
    );
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answer = await ask(gateway.door, { path: "/m/anthropic/v1/messages?beta=true" });

    expect(answer).toMatchObject({ status: 200, body: messageOf(1000, 100) });
    const [seen] = upstream.requests;
    expect(seen?.url).toBe("/v1/messages?beta=true");
    expect(seen?.headers["x-api-key"]).toBe(realKey);
    expect(JSON.stringify(seen?.rawHeaders)).not.toContain(workerToken("one"));
    const [closed] = await gateway.told("closed");
    expect(closed).toMatchObject({ worker: "one", status: 200, model: "m", isEstimated: false });
    expect(closed?.spent).toMatchObject({ calls: 1, inputTokens: 1000, outputTokens: 100 });
    expect(closed?.spent.costUsd).toBeCloseTo(0.002, 9);
  });

  test("is written down before it goes on", async ({ folder }) => {
    let journal = "";
    const gateway = await startGateway(folder);
    await using _gateway = gateway;
    await using upstream = await startUpstream(async (_request, response) => {
      journal = await readFile(gateway.journal, "utf8");
      response.writeHead(200, json).end(messageOf(1, 1));
    });
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    await ask(gateway.door);

    expect(JSON.parse(journal.trim())).toMatchObject({ type: "opened", seq: 1, worker: "one" });
  });

  test("streams: what came first is passed on before the rest is there", async ({ folder }) => {
    const begun = Promise.withResolvers<() => void>();
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,"output_tokens":1}}}\n\n',
      );
      begun.resolve(() =>
        response.end(
          'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":5}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
        ),
      );
    });
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const { request } = await import("node:http");
    const first = await new Promise<string>((resolve, reject) => {
      const asking = request(
        {
          socketPath: gateway.door,
          path: "/m/anthropic/v1/messages",
          method: "POST",
          headers: { "x-api-key": workerToken("one") },
        },
        (answer) => answer.once("data", (piece: Buffer) => resolve(piece.toString())),
      );
      asking.on("error", reject);
      asking.end('{"model":"m","max_tokens":9,"stream":true}');
    });

    expect(first).toContain("message_start");
    expect(gateway.said.filter(({ type }) => type === "closed")).toEqual([]);
    (await begun.promise)();
    const [closed] = await gateway.told("closed");
    expect(closed?.spent).toMatchObject({ inputTokens: 7, outputTokens: 5 });
  });

  test("that echoes the key gives stars", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(400, { ...json, "x-echo": `a ${realKey} b` });
      response.write(`{"error":"${realKey.slice(0, 9)}`);
      response.end(`${realKey.slice(9)} is wrong"}`);
    });
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answer = await ask(gateway.door);

    expect(JSON.stringify(answer)).not.toContain(realKey);
    expect(answer.body).toBe(`{"error":"${"*".repeat(realKey.length)} is wrong"}`);
  });

  test("that is cut off counts as the most that it may have been", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,"output_tokens":1}}}\n\n',
      );
      setImmediate(() => response.destroy());
    });
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answer = await ask(gateway.door, { body: { model: "m", max_tokens: 500 } });

    expect(answer.isWhole).toBe(false);
    const [closed] = await gateway.told("closed");
    expect(closed).toMatchObject({ isEstimated: true });
    expect(closed?.spent.outputTokens).toBe(500);
  });
});

describe("a connection to a model that is closed as it is taken again", () => {
  test("is no failure: the call goes on by another one", async ({ folder }) => {
    const sockets = new Set<unknown>();
    await using upstream = await startUpstream((request, response) => {
      const isOld = sockets.has(request.socket);
      sockets.add(request.socket);
      if (isOld) request.socket.resetAndDestroy();
      else response.writeHead(200, json).end(messageOf(1, 1));
    });
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answers = [await ask(gateway.door), await ask(gateway.door)];

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(upstream.requests).toHaveLength(3);
    expect((await gateway.told("closed", 2)).map(({ isEstimated }) => isEstimated)).toEqual([false, false]);
  });
});

describe("a journal whose last line is torn", () => {
  test("counts for what was told, and not for that line", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) =>
      response.writeHead(200, json).end(messageOf(10, 20)),
    );
    const admission = admissionOf([endpointAt(upstream.url)]);
    let journal = "";
    {
      await using gateway = await startGateway(folder);
      await gateway.admit(admission);
      await ask(gateway.door);
      await gateway.told("closed");
      ({ journal } = gateway);
    }
    const [opened = ""] = (await readFile(journal, "utf8")).split("\n");
    const torn = JSON.stringify({ ...JSON.parse(opened), seq: 3, reserve: { ...zeroSpending, costUsd: 50 } });
    await appendFile(journal, torn);

    await using again = await startGateway(folder);
    const hello = await again.admit(admission);

    expect(hello.spent.costUsd).toBeLessThan(1);
    expect(hello.lastSeq).toBe(2);
  });
});

describe("who is not let in", () => {
  test.for([
    ["no token", { headers: { "x-api-key": "" } }],
    ["a wrong one", { headers: { "x-api-key": "wrong" } }],
    ["two that differ", { headers: { authorization: "Bearer other" } }],
    ["the real key", { headers: { "x-api-key": realKey } }],
  ] as const)("%s: 403 at once, and the model hears nothing", async ([, asking], { folder }) => {
    await using upstream = await startUpstream((_request, response) => response.end());
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answer = await ask(gateway.door, asking);

    expect(answer.status).toBe(403);
    expect(upstream.requests).toHaveLength(0);
    expect((await gateway.told("refused"))[0]).toMatchObject({ worker: null, why: "token" });
  });

  test("one that was revoked, in the midst of an answer", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, json);
      response.write("{");
    });
    await using gateway = await startGateway(folder);
    const admission = admissionOf([endpointAt(upstream.url)]);
    await gateway.admit(admission);
    const asked = ask(gateway.door);
    await gateway.told("opened");

    await gateway.admit({ ...admission, workers: [] });

    expect((await asked.catch(() => ({ isWhole: false }))).isWhole).toBe(false);
    expect((await ask(gateway.door)).status).toBe(403);
  });

  test("anybody, before the host has said who may: 503, and again in five seconds", async ({ folder }) => {
    await using gateway = await startGateway(folder);

    const answer = await ask(gateway.door);

    expect(answer).toMatchObject({ status: 503 });
    expect(answer.headers["retry-after"]).toBe("5");
  });
});

describe("a budget", () => {
  test("shuts the door when it is used up, after a warning", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) =>
      response.writeHead(200, json).end(messageOf(0, 50)),
    );
    await using gateway = await startGateway(folder);
    const workers = [admittedWorker("one", { budget: { usd: null, tokens: 120 } }), admittedWorker("two")];
    await gateway.admit(admissionOf([endpointAt(upstream.url)], { workers }));

    const statuses: number[] = [];
    for (let call = 0; call < 4; call += 1) statuses.push((await ask(gateway.door)).status);
    const other = await ask(gateway.door, { worker: "two" });

    expect(statuses).toEqual([200, 200, 200, 403]);
    expect(other.status).toBe(200);
    const told = await gateway.told("budget", 2);
    expect(told.map(({ share, worker, of }) => [share, worker, of])).toEqual([
      [0.8, "one", "tokens"],
      [1, "one", "tokens"],
    ]);
  });

  test("of the swarm holds for all of them, and is exceeded by no more than what was under way", async ({
    folder,
  }) => {
    await using upstream = await startUpstream((_request, response) =>
      setTimeout(() => response.writeHead(200, json).end(messageOf(0, 100)), 20),
    );
    await using gateway = await startGateway(folder);
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    await gateway.admit(
      admissionOf([endpointAt(upstream.url)], {
        budget: { usd: null, tokens: 1000 },
        workers: names.map((name) => admittedWorker(name)),
      }),
    );

    await Promise.all(
      names.map(async (worker) => {
        while ((await ask(gateway.door, { worker })).status === 200);
      }),
    );

    const spent = upstream.requests.length * 100;
    expect(spent).toBeGreaterThanOrEqual(1000);
    expect(spent).toBeLessThanOrEqual(1000 + (names.length - 1) * 100);
  });

  test("is what it was after a crash; calls that were under way count as the most they may have been", async ({
    folder,
  }) => {
    await using upstream = await startUpstream((request, response) => {
      if (upstream.requests.length === 1) response.writeHead(200, json).end(messageOf(10, 20));
      else request.resume();
    });
    const admission = admissionOf([endpointAt(upstream.url)]);
    {
      await using gateway = await startGateway(folder);
      await gateway.admit(admission);
      await ask(gateway.door);
      void ask(gateway.door, { body: { model: "m", max_tokens: 300 } }).catch(() => {});
      await gateway.told("opened", 2);
      // Its own words of the second call never come, as if it had been killed.
      const journal = await readFile(gateway.journal, "utf8");
      const { writeFile } = await import("node:fs/promises");
      await gateway[Symbol.asyncDispose]();
      await writeFile(gateway.journal, journal);
    }

    await using again = await startGateway(folder);
    const hello = await again.admit(admission);

    expect(hello.workers["one"]).toMatchObject({ calls: 2, outputTokens: 320 });
    expect((await again.told("closed", 2))[1]).toMatchObject({ status: 0, isEstimated: true });
  });
});

describe("a login of a subscription", () => {
  const login = (url: string, expiresAt: number): ModelEndpoint =>
    endpointAt(url, {
      credential: {
        ...{ kind: "login", accessToken: "access-token-1", refreshToken: "refresh-token-1", expiresAt },
        ...{ refreshUrl: `${url}/token`, clientId: "client" },
      },
    });

  test("that expires while eight use it is renewed once", async ({ folder }) => {
    let renewals = 0;
    await using upstream = await startUpstream((request, response) => {
      if (request.url === "/token") {
        renewals += 1;
        const fresh = { access_token: "access-token-2", refresh_token: "refresh-token-2", expires_in: 3600 };
        setTimeout(() => response.writeHead(200, json).end(JSON.stringify(fresh)), 20);
      } else if (request.headers.authorization === "Bearer access-token-2")
        response.writeHead(200, json).end(messageOf(1, 1));
      else response.writeHead(401, json).end('{"error":{"message":"expired"}}');
    });
    await using gateway = await startGateway(folder);
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const admission = admissionOf([login(upstream.url, Date.now() + 3_600_000)], {
      workers: names.map((name) => admittedWorker(name)),
    });
    await gateway.admit(admission);

    const answers = await Promise.all(names.map((worker) => ask(gateway.door, { worker })));
    await gateway.admit(admission);
    const later = await ask(gateway.door, { worker: "a" });

    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(later.status).toBe(200);
    expect(renewals).toBe(1);
    expect((await gateway.told("login"))[0]).toMatchObject({ accessToken: "access-token-2" });
    const flags = upstream.requests.at(-1)?.headers["anthropic-beta"];
    expect(flags).toBe("oauth-2025-04-20");
  });

  test("that was renewed twice is not forgotten for one that the host hands over in between", async ({
    folder,
  }) => {
    const asked: string[] = [];
    await using upstream = await startUpstream(async (request, response) => {
      if (request.url !== "/token") return void response.writeHead(200, json).end(messageOf(1, 1));
      const { refresh_token: used } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      asked.push(used);
      const next = asked.length + 1;
      // So short that it must be renewed at each call.
      const fresh = { access_token: `access-${next}`, refresh_token: `refresh-token-${next}`, expires_in: 1 };
      response.writeHead(200, json).end(JSON.stringify(fresh));
    });
    await using gateway = await startGateway(folder);
    const [first] = [login(upstream.url, 0)];
    await gateway.admit(admissionOf([first]));
    await ask(gateway.door);
    const [news] = await gateway.told("login");
    const renewed = { accessToken: news?.accessToken ?? "", refreshToken: news?.refreshToken ?? "" };
    const again = { ...first, credential: { ...first.credential, ...renewed, expiresAt: 0 } };
    await gateway.admit(admissionOf([again as ModelEndpoint]));
    await ask(gateway.door);

    const last = await ask(gateway.door);

    expect(last.status).toBe(200);
    expect(asked).toEqual(["refresh-token-1", "refresh-token-2", "refresh-token-3"]);
  });

  test("that nobody renews any more is 403", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) =>
      response.writeHead(400, json).end('{"error":"invalid_grant"}'),
    );
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([login(upstream.url, 0)]));

    expect((await ask(gateway.door)).status).toBe(403);
  });
});

describe("a limit of a model's API", () => {
  test("is told once to each worker that meets it, and holds for that credential and no other", async ({
    folder,
  }) => {
    await using upstream = await startUpstream((request, response) => {
      if (request.headers["x-api-key"] !== realKey) response.writeHead(200, json).end(messageOf(1, 1));
      else response.writeHead(429, { ...json, "retry-after": "3600" }).end("{}");
    });
    await using gateway = await startGateway(folder);
    const other = endpointAt(upstream.url, {
      name: "other",
      credential: { kind: "headers", headers: { "x-api-key": "another-key" } },
    });
    const workers = [admittedWorker("one"), admittedWorker("two", { endpoints: ["anthropic", "other"] })];
    await gateway.admit(admissionOf([endpointAt(upstream.url), other], { workers }));

    const first = await ask(gateway.door);
    const second = await ask(gateway.door, { worker: "two" });
    await ask(gateway.door, { worker: "two" });
    const free = await ask(gateway.door, { worker: "two", path: "/m/other/v1/messages" });

    expect([first.status, second.status, free.status]).toEqual([429, 429, 200]);
    expect(Number(second.headers["retry-after"])).toBeGreaterThan(3500);
    expect(upstream.requests).toHaveLength(2);
    const told = await gateway.told("limited", 2);
    expect(told.map(({ worker }) => worker)).toEqual(["one", "two"]);
    expect(Date.parse(told[0]?.until ?? "") - Date.now()).toBeGreaterThan(3_500_000);
  });
});
