import { readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { workerToken } from "../test/fakes/gateway/gateway.ts";
import { type Bench, nothing } from "./bench.ts";
import { type Comparison, median } from "./compare.ts";
import { type GatewayRoad, openGatewayRoad, type Way } from "./gateway-road.ts";
import { type AskedAnswer, answerPieces, outputTokensOf, requestOf } from "./model-answers.ts";

const [callMs, firstByteMs, memoryBytes] = [1, 2, 120e6];
const pairs = 30;
const streams = 200;
/** About what the first request of an agent has, with its tools and its instructions. */
const promptBytes = 64 << 10;

const hops =
  "one more way through Node's HTTP, of which a proxy that does nothing else took a third where it was tried, and a record on the disk before the model is asked";

interface Answered {
  readonly firstByteMs: number;
  readonly ms: number;
}

/** What the gateway adds to a model's answers, against the same model asked directly; and its memory with many streams. */
export const gateway: Bench = {
  title: "The gateway",
  async prepare({ folder, undo, isShort }) {
    if (isShort) return nothing;
    const road = await openGatewayRoad(folder);
    undo.use(road);
    const { direct, gateway: through, sandbox } = road.ways;
    const callers = caller(road);
    const small = { isStream: false, together: 1, events: 0 };
    const streamed = { isStream: true, together: 1, events: 3 };
    const added =
      (way: Way, asked: Omit<AskedAnswer, "call">, read: (answered: Answered) => number) =>
      async (): Promise<number> => {
        const differences: number[] = [];
        for (let pair = 0; pair < pairs; pair += 1) {
          const ways = pair % 2 === 0 ? [way, direct] : [direct, way];
          const [first, second] = [
            await callers(ways[0] ?? way, asked),
            await callers(ways[1] ?? way, asked),
          ];
          differences.push((read(first) - read(second)) * (pair % 2 === 0 ? 1 : -1));
        }
        return median(differences);
      };
    const call = (name: string, way: Way): Comparison => ({
      ...{ name, against: "1 ms", goal: { sign: "≤", ratio: 1 } },
      note: `median of ${pairs} pairs with the model asked directly, opened and closed in the journal on the disk`,
      bound: hops,
      ours: added(way, small, ({ ms }) => ms),
      theirs: async () => callMs,
    });
    const stream = (name: string, way: Way): Comparison => ({
      ...{ name, against: "2 ms", goal: { sign: "≤", ratio: 1 }, fewestRounds: 2 },
      note: `median of ${pairs} pairs with the model asked directly`,
      bound: hops,
      ours: added(way, streamed, (answered) => answered.firstByteMs),
      theirs: async () => firstByteMs,
    });
    const crowd = (name: string, way: Way): Comparison => ({
      ...{ name, against: "120 MB", goal: { sign: "≤", ratio: 1 }, fewestRounds: 2 },
      note: `most resident memory while all are open; every byte and every token is right`,
      bound: "Node itself, and prompts that are each held whole before they are sent",
      ours: () => heldWith(road.gatewayPid, callers, { way, together: streams }),
      theirs: async () => memoryBytes,
    });
    return {
      comparisons: [
        call("what the gateway adds to a small model call", through),
        call("the same on the whole way out of a sandbox", sandbox),
        stream("what the gateway adds to a stream's first byte", through),
        stream("the same on the whole way out of a sandbox", sandbox),
        crowd(`the gateway's memory with ${streams} streams at once`, through),
        crowd("the same on the whole way out of a sandbox", sandbox),
      ],
      async growth() {
        // One that has not had more yet: what was used once is not all given back.
        await using fresh = await openGatewayRoad(join(folder, "growth"));
        const call = caller(fresh);
        const points: [number, number][] = [];
        for (const together of [1, 10, 100])
          points.push([
            together,
            (await heldWith(fresh.gatewayPid, call, { way: fresh.ways.gateway, together })) / 1e6,
          ]);
        const name = "memory of the gateway with N streams at once";
        return [{ name, unit: "MB", series: [{ name: "swarm", points }] }];
      },
    };
  },
};

/** The most that a gateway holds while so many streams are open. */
async function heldWith(
  pid: number,
  call: Caller,
  { way, together }: { readonly way: Way; readonly together: number },
): Promise<number> {
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  const asked = { isStream: true, together, events: 100 };
  await Promise.all(Array.from({ length: together }, () => call(way, asked, promptBytes)));
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

type Caller = (way: Way, asked: Omit<AskedAnswer, "call">, contentBytes?: number) => Promise<Answered>;

/** Makes one call after another, each as the next worker, and checks each to the last byte and token. */
function caller({ ways, workers, told }: GatewayRoad): Caller {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: streams });
  let calls = 0;
  return async (way, facts, contentBytes = 0) => {
    calls += 1;
    const asked = { ...facts, call: calls };
    const worker = workers[calls % workers.length] ?? "";
    const body = requestOf(asked, contentBytes);
    const { text, ...answered } = await ask(way, { agent, worker, body, isDirect: way === ways.direct });
    if (text !== answerPieces(asked).join("")) throw new Error(`Call ${calls} was answered with ${text}`);
    if (way === ways.direct) return answered;
    const { spent, isEstimated, status } = await told(asked.call);
    if (isEstimated || status !== 200 || spent.outputTokens !== outputTokensOf(asked.call))
      throw new Error(`Call ${asked.call} was not counted right: ${JSON.stringify(spent)}`);
    return answered;
  };
}

interface Asking {
  readonly agent: Agent;
  readonly worker: string;
  readonly body: string;
  readonly isDirect: boolean;
}

function ask(way: Way, { agent, worker, body, isDirect }: Asking): Promise<Answered & { text: string }> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const since = (): number => performance.now() - begun;
    const headers = {
      ...{ "x-api-key": workerToken(worker), "content-type": "application/json" },
      "content-length": Buffer.byteLength(body),
    };
    const path = isDirect ? "/v1/messages" : "/m/anthropic/v1/messages";
    const asking = request({ ...way, agent, method: "POST", path, headers }, (response) => {
      let firstByteMs = 0;
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        firstByteMs ||= since();
        text += piece;
      });
      response.on("end", () => resolve({ firstByteMs, ms: since(), text }));
      response.on("error", reject);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}
