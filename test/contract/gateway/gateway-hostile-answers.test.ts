import { type AddressInfo, createServer } from "node:net";
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";
import { describe, expect } from "vitest";
import { eventually } from "../../fakes/eventually.ts";
import { test } from "../../fakes/folders.ts";
import {
  admissionOf,
  ask,
  endpointAt,
  messageOf,
  realKey,
  startGateway,
  startUpstream,
} from "../../fakes/gateway/gateway.ts";
import { type HostileAnswer, hostileAnswers } from "../../fakes/gateway/hostile-answers.ts";
import { goodCall } from "../../fakes/gateway/hostile-requests.ts";
import { linesOf, wideBounds } from "../../fakes/gateway/hostile-world.ts";
import { speakRaw } from "../../fakes/gateway/raw-connection.ts";

interface RawUpstream extends AsyncDisposable {
  readonly url: string;
}

/** Answers each call with what its query asks for, and any other one as it should be. */
async function answerRaw(answers: readonly HostileAnswer[]): Promise<RawUpstream> {
  const sockets = new Set<{ destroy: () => void }>();
  const good = messageOf(1, 1);
  const server = createServer((socket) => {
    let heard = "";
    sockets.add(socket.on("error", () => {}));
    socket.on("data", (piece: Buffer) => {
      heard += piece.toString("latin1");
      if (!heard.includes("\r\n\r\n{")) return;
      const [, asked] = /\?n=(\d+)/.exec(heard) ?? [];
      heard = "";
      const { pieces, isLast } = answers[Number(asked ?? -1)] ?? {
        pieces: [
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${good.length}\r\n\r\n${good}`,
        ],
        isLast: false,
      };
      const say = (index: number): void => {
        const next = pieces[index];
        if (next !== undefined)
          // One after another, so that they arrive in pieces.
          socket.write(Buffer.from(next as string, "latin1"), () => setImmediate(() => say(index + 1)));
        else if (isLast) socket.end();
      };
      say(0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** All that somebody could find in an answer: as it came, put together, and unpacked. */
function readings(text: string): string {
  let rest = text.slice(text.indexOf("\r\n\r\n") + 4);
  let body = "";
  for (let chunk = /^([0-9a-f]+)\r\n/.exec(rest); chunk; chunk = /^\r\n([0-9a-f]+)\r\n/.exec(rest)) {
    const end = chunk[0].length + Number.parseInt(chunk[1] ?? "0", 16);
    body += rest.slice(chunk[0].length, end);
    rest = rest.slice(end);
  }
  const whole = Buffer.from(body, "latin1");
  const finishFlush = constants.Z_SYNC_FLUSH;
  const unpacked = [
    () => gunzipSync(whole, { finishFlush }),
    () => inflateSync(whole, { finishFlush }),
    () => brotliDecompressSync(whole),
    () => zstdDecompressSync(whole),
  ].map((unpack) => {
    try {
      return unpack().toString("latin1");
    } catch {
      return "";
    }
  });
  return [text, whole.toString("latin1"), ...unpacked].join("\n").toLowerCase();
}

describe("an API of a model that says what it should not", () => {
  test(`in ${hostileAnswers.length} ways: the key stays here, and each call is counted`, {
    timeout: 60_000,
  }, async ({ folder }) => {
    const complaints: string[] = [];
    await using upstream = await answerRaw(hostileAnswers);
    await using gateway = await startGateway(folder, {
      bounds: wideBounds,
      complain: (line) => complaints.push(line),
    });
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const heard = await Promise.all(
      hostileAnswers.map((_answer, index) =>
        speakRaw(gateway.door, goodCall(`/m/anthropic/v1/messages?n=${index}`)),
      ),
    );

    const closed = await gateway.told("closed", hostileAnswers.length);
    const told = heard.map((text, index) => ({ name: hostileAnswers[index]?.name, text }));
    expect(told.filter(({ text }) => readings(text).includes(realKey))).toEqual([]);
    expect(
      told.filter(({ text }) =>
        /[^\r]\n|set-cookie|content-encoding|\u0000/i.test(text.split("\r\n\r\n")[0] ?? ""),
      ),
    ).toEqual([]);
    expect(
      closed.map(({ spent }) =>
        Object.values(spent).every((amount) => amount >= 0 && Number.isFinite(amount)),
      ),
    ).toEqual(closed.map(() => true));
    // Where nothing is told that can be believed, it counts as the most that it may have been.
    expect(
      closed.filter(({ status, spent }) => status === 200 && spent.inputTokens + spent.outputTokens === 0),
    ).toEqual([]);
    expect(complaints).toEqual([]);
    expect(JSON.stringify(await linesOf(gateway))).not.toContain(realKey);
    expect((await ask(gateway.door)).status).toBe(200);
  });

  test("an unpacked answer is passed on, and what it took is counted", async ({ folder }) => {
    await using upstream = await startUpstream((_request, response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(messageOf(3, 4))),
    );
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    const answer = await ask(gateway.door);

    expect(answer).toMatchObject({ status: 200, body: messageOf(3, 4) });
    expect((await gateway.told("closed"))[0]).toMatchObject({
      isEstimated: false,
      spent: { inputTokens: 3, outputTokens: 4 },
    });
  });

  test("a limit that nobody can mean ends within a week", async ({ folder }) => {
    const waits = [
      "-1",
      "1e99",
      "NaN",
      "99999999999999999999",
      "Fri, 31 Dec 9999 23:59:59 GMT",
      "\u00ff",
      "0",
    ];
    await using upstream = await startUpstream((request, response) => {
      const wait = waits[Number(/^\/e(\d+)/.exec(request.url ?? "")?.[1])] ?? "";
      response.writeHead(429, { "retry-after": wait }).end("{}");
    });
    await using gateway = await startGateway(folder);
    const endpoints = waits.map((_wait, at) => endpointAt(`${upstream.url}/e${at}`, { name: `e${at}` }));
    const admission = admissionOf(endpoints);
    const names = endpoints.map(({ name }) => name);
    await gateway.admit({
      ...admission,
      workers: admission.workers.map((worker) => ({ ...worker, endpoints: names })),
    });

    for (const name of names)
      expect((await ask(gateway.door, { path: `/m/${name}/v1/messages` })).status).toBe(429);

    const limited = await eventually("the limits are told", async () => {
      const found = gateway.said.filter((message) => message.type === "limited");
      return found.length === waits.length ? found : null;
    });
    for (const { until } of limited) {
      expect(Date.parse(until)).toBeGreaterThan(Date.now() - 60_000);
      expect(Date.parse(until)).toBeLessThanOrEqual(Date.now() + 7 * 24 * 3_600_000);
    }
  });
});
