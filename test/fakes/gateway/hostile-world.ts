import { readFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { expect } from "vitest";
import type { GatewayServerLimits } from "../../../gateway/front/gateway-server.ts";
import type { AdmittedWorker, Spending } from "../../../src/contract/gateway.ts";
import { addSpending, zeroSpending } from "../../../src/usage/spending.ts";
import { eventually } from "../eventually.ts";
import {
  admissionOf,
  admittedWorker,
  endpointAt,
  type FakeGateway,
  messageOf,
  realKey,
  startGateway,
  startUpstream,
  type Upstream,
  workerToken,
} from "./gateway.ts";

const json = { "content-type": "application/json" };
/** Room for all who attack at once; who is told no is not waited for. */
export const wideBounds: Partial<GatewayServerLimits> = {
  ...{ idleMs: 20, checkMs: 10, helloMs: 150, maxPerWorker: 5_000 },
  connections: { maxUnauthenticated: 5_000, maxConnectionsPerWorker: 5_000 },
  requestRate: { maxBurst: 1_000_000, perSecond: 0 },
};
/** Nobody waits long for what never comes. */
export const shortBounds: Partial<GatewayServerLimits> = { ...wideBounds, headersMs: 150, requestMs: 250 };

export interface Line {
  readonly at: string;
  readonly status?: number;
  readonly isEstimated?: boolean;
  readonly spent?: Spending;
  readonly total?: Spending;
  readonly what?: string;
  readonly type: string;
  readonly seq: number;
  readonly worker?: string | null;
  readonly opened?: number;
  readonly method?: string;
  readonly path?: string;
}

export async function linesOf({ journal }: FakeGateway): Promise<Line[]> {
  const text = await readFile(journal, "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** Each call that arrived is written down as one that was opened and closed, in the name of who made it. */
export async function expectAllCounted(gateway: FakeGateway, upstream: Upstream): Promise<void> {
  const lines = await eventually("all calls are closed", async () => {
    const found = await linesOf(gateway);
    const [opened, closed] = ["opened", "closed"].map((type) => found.filter((line) => line.type === type));
    return opened?.length === closed?.length && (opened?.length ?? 0) >= upstream.requests.length
      ? found
      : null;
  });
  const opened = lines.filter(({ type }) => type === "opened");
  const closed = lines.filter(({ type }) => type === "closed");

  expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_line, index) => index + 1));
  expect(closed.map(({ opened: seq }) => seq).toSorted()).toEqual(opened.map(({ seq }) => seq).toSorted());
  expect([...opened, ...closed].filter(({ worker }) => worker !== "one")).toEqual([]);
  // Each total holds what was spent until then, in the order in which it is written.
  let spent = zeroSpending;
  for (const line of closed) {
    spent = addSpending(spent, line.spent ?? zeroSpending);
    expect(line.total?.calls).toBe(spent.calls);
    expect(line.total?.outputTokens).toBe(spent.outputTokens);
  }
  // Some that were opened never got there, because who made them had left.
  const written = opened.map(({ method, path }) => `${method} ${path}`);
  const missing = upstream.requests
    .map(({ method, url = "" }) => `${method} ${url.split("?")[0]?.replace(/^\/base/, "")}`)
    .filter((call) => {
      const at = written.indexOf(call);
      if (at >= 0) written.splice(at, 1);
      return at < 0;
    });
  expect(missing).toEqual([]);
  const text = JSON.stringify(lines);
  expect(text.includes(realKey) || text.includes(workerToken("one"))).toBe(false);
}

/** What may never arrive at a model's API, whoever asks. */
export function expectClean({ requests }: Upstream): void {
  for (const { url = "", rawHeaders, headers, method = "" } of requests) {
    const said = `${url} ${rawHeaders.join("\n")}`;
    expect(`${method} ${url.split("?")[0]}`).toMatch(
      /^(POST \/v1\/messages|GET \/v1\/models|(GET|POST|HEAD) \/base\/.*)$/,
    );
    expect(said).not.toContain(workerToken("one"));
    expect(rawHeaders.filter((name) => name.toLowerCase() === "x-api-key")).toHaveLength(1);
    expect(headers["x-api-key"]).toBe(realKey);
    expect(headers["accept-encoding"]).toBe("identity");
    expect(headers["transfer-encoding"]).toBeUndefined();
    expect(said).not.toMatch(/mine|smuggled|\/admin|secret|DELETE|bytes=0-3|utf-16/);
    expect(headers.connection).toBe("keep-alive");
  }
}

export interface WorldOptions {
  readonly listener: RequestListener;
  readonly bounds: Partial<GatewayServerLimits>;
  /** What is other than usual about the hostile worker. */
  readonly one: Partial<AdmittedWorker>;
}

const allowed = { host: "allowed.example", port: 443 };
const answerAll: RequestListener = (request, response) => {
  request.resume().on("end", () => response.writeHead(200, json).end(messageOf(1, 1)));
};

export interface World extends AsyncDisposable {
  readonly upstream: Upstream;
  readonly gateway: FakeGateway;
  readonly complaints: string[];
}

/** A gateway for a worker that is hostile and one that is good, and a model that answers. */
export async function standUp(
  folder: string,
  { listener = answerAll, bounds = {}, one = {} }: Partial<WorldOptions> = {},
): Promise<World> {
  const stack = new AsyncDisposableStack();
  const complaints: string[] = [];
  const upstream = stack.use(await startUpstream(listener));
  const gateway = stack.use(
    await startGateway(folder, {
      bounds: { ...wideBounds, ...bounds },
      complain: (line) => complaints.push(line),
    }),
  );
  const admission = admissionOf(
    [
      endpointAt(upstream.url),
      endpointAt(`${upstream.url}/base`, { name: "any", api: null }),
      endpointAt(`${upstream.url}/other`, { name: "other" }),
    ],
    {
      workers: [
        admittedWorker("one", { ...one, endpoints: ["anthropic", "any"], allow: [allowed] }),
        admittedWorker("good"),
      ],
    },
  );
  await gateway.admit(admission);
  return { upstream, gateway, complaints, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
