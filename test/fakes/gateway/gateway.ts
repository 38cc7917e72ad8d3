import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import {
  controlSocketPath,
  type GatewayPaths,
  journalPath,
} from "../../../gateway/accounts/gateway-paths.ts";
import { type RunGatewayDeps, runGateway } from "../../../gateway/run-gateway.ts";
import type {
  AdmissionPayload,
  AdmittedWorker,
  GatewayHello,
  GatewayMessage,
  ModelEndpoint,
} from "../../../src/contract/gateway.ts";
import { zeroSpending } from "../../../src/usage/spending.ts";
import { jsonLines } from "../../../src/wire/text-lines.ts";
import { eventually } from "../eventually.ts";

/** A key that is worth something; nobody in a sandbox may ever see it. */
export const realKey = "sk-real-0123456789abcdef";
export const workerToken = (worker: string): string => `token-of-${worker}`;

export const endpointAt = (url: string, changes: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  ...{ name: "anthropic", api: "anthropic", url },
  credential: { kind: "headers", headers: { "x-api-key": realKey } },
  // By this header a test knows its requests again.
  pass: ["x-mark"],
  ...changes,
});

export const admittedWorker = (worker: string, changes: Partial<AdmittedWorker> = {}): AdmittedWorker => ({
  ...{ worker, tokenSha256: createHash("sha256").update(workerToken(worker)).digest("hex") },
  ...{ address: null, endpoints: ["anthropic"], mirrors: [], allow: [], spent: zeroSpending },
  budget: { usd: null, tokens: null },
  ...changes,
});

export const admissionOf = (
  endpoints: readonly ModelEndpoint[],
  changes: Partial<AdmissionPayload> = {},
): AdmissionPayload => ({
  ...{ endpoints, mirrors: [], budget: { usd: null, tokens: null }, spent: zeroSpending },
  prices: [{ model: "m", input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 }],
  workers: [admittedWorker("one")],
  ...changes,
});

export interface FakeGateway extends AsyncDisposable {
  readonly door: string;
  readonly journal: string;
  /** All that it has said to the host so far. */
  readonly said: readonly GatewayMessage[];
  /** Resolves when it knows. */
  admit(admission: AdmissionPayload): Promise<GatewayHello>;
  /** Resolves when that many lines of this type were said. */
  told<Type extends GatewayMessage["type"]>(
    type: Type,
    count?: number,
  ): Promise<Extract<GatewayMessage, { type: Type }>[]>;
}

/** A gateway in this process, whose door is a socket, and the host's line to it. */
export async function startGateway(
  folder: string,
  options: Partial<RunGatewayDeps> = {},
): Promise<FakeGateway> {
  const paths: GatewayPaths = { own: join(folder, "gw"), shared: join(folder, "door") };
  for (const each of Object.values(paths)) await mkdir(each, { recursive: true });
  const stopped = new AbortController();
  const door = join(paths.shared, "door.sock");
  const served = runGateway({
    ...{ paths, addresses: [{ socket: door }], version: "test", stopped: stopped.signal, complain: () => {} },
    ...options,
  });
  const said: GatewayMessage[] = [];
  const line = await eventually("the gateway listens", () => joined(controlSocketPath(paths)));
  line.write(`${JSON.stringify({ from: 0 })}\n`);
  const listening = (async () => {
    for await (const message of jsonLines(line, { maxLength: 1 << 20 })) said.push(message as GatewayMessage);
  })().catch(() => {});
  const hellos = (): GatewayHello[] => said.filter((message) => message.type === "hello");
  await eventually("its greeting", async () => hellos()[0] ?? null);
  // The line to the host is there before the door is.
  if (options.addresses === undefined) await eventually("the door", async () => existsSync(door) || null);
  return {
    ...{ door, said, journal: journalPath(paths) },
    async admit(payload) {
      const before = hellos().length;
      line.write(`${JSON.stringify({ type: "admission", payload })}\n`);
      return eventually("its answer", async () => hellos()[before] ?? null);
    },
    told: (type, count = 1) =>
      eventually(`${count} of ${type}`, async () => {
        const found = said.filter((message) => message.type === type);
        return found.length >= count ? found : null;
      }) as Promise<never>,
    async [Symbol.asyncDispose]() {
      line.destroy();
      await listening;
      stopped.abort();
      await served;
    },
  };
}

function joined(path: string): Promise<ReturnType<typeof connect> | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(null));
  });
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly isWhole: boolean;
}

export interface Asking {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly worker?: string;
}

/** One call through a door, as an agent makes it. */
export function ask(
  socketPath: string,
  { path = "/m/anthropic/v1/messages", method = "POST", headers, body, worker = "one" }: Asking = {},
): Promise<Answered> {
  const content = body === undefined ? '{"model":"m","max_tokens":100}' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        ...{ socketPath, path, method },
        headers: { "x-api-key": workerToken(worker), "content-type": "application/json", ...headers },
      },
      (answer) => {
        const pieces: Buffer[] = [];
        const end = (isWhole: boolean): void =>
          resolve({
            ...{ status: answer.statusCode ?? 0, headers: answer.headers, isWhole },
            body: Buffer.concat(pieces).toString(),
          });
        answer.on("data", (piece: Buffer) => pieces.push(piece));
        answer.on("end", () => end(true));
        answer.on("error", () => end(false));
      },
    );
    asking.on("error", reject);
    asking.end(method === "GET" ? undefined : content);
  });
}

export interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: IncomingMessage[];
}

/** A model's API that answers as it is told. */
export async function startUpstream(listener: RequestListener, host = "127.0.0.1"): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const server = createServer((asked, response) => {
    requests.push(asked);
    listener(asked, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, requests },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What Anthropic's API says at the end of a call that is not streamed. */
export const messageOf = (input: number, output: number): string =>
  JSON.stringify({
    ...{ id: "msg", type: "message", role: "assistant", model: "m", content: [] },
    usage: { input_tokens: input, output_tokens: output },
  });
