import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { controlSocketPath } from "../gateway/accounts/gateway-paths.ts";
import type { AdmissionPayload, CallClosed, GatewayMessage } from "../src/contract/gateway.ts";
import { jsonLines } from "../src/wire/text-lines.ts";
import { eventually } from "../test/fakes/eventually.ts";
import { admissionOf, admittedWorker, endpointAt } from "../test/fakes/gateway/gateway.ts";

/** A way to a model: a socket's file, or a port of the loopback. */
export type Way = { readonly socketPath: string } | { readonly port: number };

/** A model, a gateway before it, and a sandbox's way there, each in a process of its own. */
export interface GatewayRoad extends AsyncDisposable {
  readonly ways: { readonly direct: Way; readonly gateway: Way; readonly sandbox: Way };
  readonly workers: readonly string[];
  readonly gatewayPid: number;
  /** Resolves with what the gateway's journal says of a call that told of so many tokens. */
  told(inputTokens: number): Promise<CallClosed>;
}

const source = fileURLToPath(new URL("gateway-road-process.ts", import.meta.url));
const starter = new URL("../images/gateway", import.meta.url);
/** More than are ever asked for at once would need a worker each; so many share the calls of a whole run. */
const workers = Array.from({ length: 16 }, (_, index) => `worker-${index}`);
const lateMs = 20_000;

export async function openGatewayRoad(folder: string): Promise<GatewayRoad> {
  await using undo = new AsyncDisposableStack();
  const paths = { own: join(folder, "gw"), shared: join(folder, "door") };
  for (const each of Object.values(paths)) await mkdir(each, { recursive: true });
  const program = join(folder, "road.mjs");
  // In one file of JavaScript, as it is shipped: Node's own reading of types would stay in the memory that is measured.
  await build({
    ...{ entryPoints: [source], outfile: program, bundle: true },
    ...{ format: "esm", platform: "node", target: "node24", logLevel: "warning" },
  });
  const start = async (
    args: readonly string[],
    { flags, env }: ShippedStart = { flags: [], env: {} },
  ): Promise<[ChildProcess, string]> => {
    const child = fork(program, args, { execArgv: [...flags], env: { ...process.env, ...env } });
    undo.defer(async () => {
      const exited = child.exitCode === null ? once(child, "exit") : null;
      child.kill();
      await exited;
    });
    const [place] = (await once(child, "message")) as [string];
    return [child, place];
  };
  const [, model] = await start(["model"]);
  const [gateway, door] = await start(["gateway", paths.own, paths.shared], await shippedStart());
  const [, loopback] = await start(["loopback", door]);

  const line = undo.use(await openLine(controlSocketPath(paths)));
  await line.admit(
    admissionOf([endpointAt(`http://127.0.0.1:${model}`)], {
      workers: workers.map((worker) => admittedWorker(worker)),
    }),
  );
  const held = undo.move();
  return {
    ways: {
      direct: { port: Number(model) },
      gateway: { socketPath: door },
      sandbox: { port: Number(loopback) },
    },
    ...{ workers, gatewayPid: gateway.pid ?? 0, told: line.told },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The host's line to the gateway. */
async function openLine(
  socketFile: string,
): Promise<
  AsyncDisposable & Pick<GatewayRoad, "told"> & { admit(payload: AdmissionPayload): Promise<void> }
> {
  const socket = await eventually(
    "the gateway listens",
    () =>
      new Promise<ReturnType<typeof connect> | null>((resolve) => {
        const made = connect(socketFile);
        made.once("connect", () => resolve(made)).once("error", () => resolve(null));
      }),
  );
  const closedByTokens = new Map<number, PromiseWithResolvers<CallClosed>>();
  const closedWith = (inputTokens: number): PromiseWithResolvers<CallClosed> => {
    const closed = closedByTokens.get(inputTokens) ?? Promise.withResolvers<CallClosed>();
    closedByTokens.set(inputTokens, closed);
    return closed;
  };
  let isAdmitted = false;
  const reading = (async () => {
    for await (const message of jsonLines(socket, { maxLength: 1 << 20 })) {
      const said = message as GatewayMessage;
      if (said.type === "hello") isAdmitted = said.isAdmitted;
      if (said.type === "closed") closedWith(said.spent.inputTokens).resolve(said);
    }
  })().catch(() => {});
  socket.write(`${JSON.stringify({ from: 0 })}\n`);
  return {
    async admit(payload) {
      socket.write(`${JSON.stringify({ type: "admission", payload })}\n`);
      await eventually("it is admitted", async () => isAdmitted || null);
    },
    async told(inputTokens) {
      const closed = closedWith(inputTokens);
      const late = setTimeout(() => closed.reject(new Error(`Nothing of call ${inputTokens}`)), lateMs);
      try {
        return await closed.promise;
      } finally {
        clearTimeout(late);
        closedByTokens.delete(inputTokens);
      }
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await reading;
    },
  };
}

/** How Node is told to keep its memory small in the gateway's container. */
interface ShippedStart {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function shippedStart(): Promise<ShippedStart> {
  const text = await readFile(starter, "utf8");
  const [, exported = ""] = /^export (.*)$/m.exec(text) ?? [];
  return {
    flags: text.match(/ --[\w-]+(?:=\w+)?/g)?.map((flag) => flag.trim()) ?? [],
    env: Object.fromEntries(exported.split(" ").map((word) => word.split("=") as [string, string])),
  };
}
