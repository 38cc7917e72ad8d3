import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type BufferBudgetOptions, createBufferBudget } from "../http/buffer-budget.ts";
import { closeConnectionWithStatus } from "../http/close-connection.ts";
import { sendErrorAnswer } from "../http/error-answers.ts";
import { createCpuQueuePerWorker } from "../http/worker-cpu-queue.ts";
import type { CallModelDeps } from "../model/call-model.ts";
import type { TunnelDeps } from "../tunnel/open-tunnel.ts";
import { type Front, serveConnect, serveRequest } from "./serve-request.ts";
import { createWorkerSlots, type WorkerSlotLimits } from "./worker-slots.ts";

/** The Unix socket or TCP port on which the gateway accepts connections from sandboxes. */
export type ListenAddress = { readonly socket: string } | { readonly port: number };

/** The gateway's limits for clients in sandboxes. Times are in milliseconds. */
export interface GatewayServerLimits extends WorkerSlotLimits {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  /** The interval at which the gateway looks for connections that have timed out. */
  readonly checkMs: number;
  /**
   * How long a client that opens a tunnel may take to send its TLS ClientHello, or to read the gateway's
   * refusal.
   */
  readonly helloMs: number;
  /** The memory limits for buffering request bodies. The gateway's whole process may use half a gigabyte. */
  readonly bufferBudget: BufferBudgetOptions;
}

const defaultLimits: GatewayServerLimits = {
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 65_000,
  checkMs: 1_000,
  helloMs: 10_000,
  maxPerWorker: 128,
  connections: { maxUnauthenticated: 1_000, maxConnectionsPerWorker: 256 },
  requestRate: { maxBurst: 5_000, perSecond: 20 },
  bufferBudget: { maxBytesPerWorker: 64 << 20, maxBytes: 160 << 20, guaranteedBytes: 2 << 20 },
};

/**
 * Opens the gateway's server for sandboxes. A worker's token gives access only to the models and hosts that
 * the worker may use.
 */
export async function openGatewayServer(
  deps: Omit<CallModelDeps, "openLease" | "workerQueue"> &
    Pick<TunnelDeps, "resolve" | "connect"> &
    Pick<Front, "complain">,
  address: ListenAddress,
  given: Partial<GatewayServerLimits>,
): Promise<AsyncDisposable> {
  const limits = { ...defaultLimits, ...given };
  const { resolve, connect } = deps;
  const front: Front = {
    calls: {
      ...deps,
      openLease: createBufferBudget(limits.bufferBudget),
      workerQueue: createCpuQueuePerWorker(),
    },
    tunnels: { resolve, connect, helloMs: limits.helloMs },
    slots: createWorkerSlots(limits),
    complain: deps.complain,
  };
  const complain = (error: unknown): void =>
    deps.complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const server = createServer(
    {
      maxHeaderSize: 16 << 10,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      keepAliveTimeoutBuffer: limits.checkMs,
      connectionsCheckingInterval: limits.checkMs,
    },
    (request, response) => {
      serveRequest(front, request, response).catch((error: unknown) => {
        complain(error);
        sendErrorAnswer(response, 500, "the gateway has an internal error");
      });
    },
  );
  server.on("connection", (socket) => front.slots.add(socket));
  // Tracks tunnels separately: after CONNECT, Node's server no longer tracks the connection.
  const tunnels = new Set<Duplex>();
  server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    tunnels.add(client);
    client.on("error", () => {}).once("close", () => tunnels.delete(client));
    serveConnect(front, request, client, head).catch((error: unknown) => {
      complain(error);
      client.destroy();
    });
  });
  server.on("clientError", (_error, socket) =>
    closeConnectionWithStatus(socket, limits.helloMs, "400 Bad Request"),
  );
  if ("socket" in address) await rm(address.socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(
      "socket" in address ? { path: address.socket } : { port: address.port, host: "0.0.0.0" },
      resolve,
    );
  });
  // Lets any user in a sandbox connect to the socket: tokens authorise the requests.
  if ("socket" in address) await chmod(address.socket, 0o666);
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      for (const client of tunnels) client.destroy();
      await closed;
    },
  };
}
