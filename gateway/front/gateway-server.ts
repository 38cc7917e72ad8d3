import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { AdmittedWorker, RefusalReason } from "../../src/contract/gateway.ts";
import { type BufferBudgetOptions, createBufferBudget } from "../http/buffer-budget.ts";
import { closeConnectionWithStatus } from "../http/close-connection.ts";
import {
  type ErrorAnswer,
  forbiddenAnswer,
  sendErrorAnswer,
  unavailableAnswer,
} from "../http/error-answers.ts";
import { createCpuQueuePerWorker } from "../http/worker-cpu-queue.ts";
import { serveMirrorRequest } from "../mirror/serve-mirror-request.ts";
import { type CallModelDeps, callModel } from "../model/call-model.ts";
import { toForwardedQuery } from "../model/forwarded-headers.ts";
import { openTunnel } from "../tunnel/open-tunnel.ts";
import { type ConnectionLimiterOptions, createConnectionLimiter } from "./connection-limiter.ts";
import {
  findWorkerTokensInConnectRequest,
  findWorkerTokensInRequest,
  isAllowedModelCall,
  parseRequestRoute,
} from "./request-route.ts";
import { openTokenBuckets, type TokenBucketOptions } from "./token-buckets.ts";

export interface GatewayServerDeps extends Omit<CallModelDeps, "bufferBudget" | "workerQueue"> {
  readonly complain: (line: string) => void;
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly connect: (address: string, port: number) => Promise<Duplex>;
}

/** The Unix socket or TCP port on which the gateway accepts connections from sandboxes. */
export type ListenAddress = { readonly socket: string } | { readonly port: number };

/** The gateway's limits for clients in sandboxes. Times are in milliseconds. */
export interface GatewayServerLimits {
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
  /** The maximum number of open requests and tunnels of one worker, both counted together. */
  readonly maxPerWorker: number;
  readonly connections: ConnectionLimiterOptions;
  /**
   * The rate limit for the requests of each worker. It keeps the gateway's journal, which records each
   * request, from filling the disk.
   */
  readonly requestRate: TokenBucketOptions;
  /** The memory limits for buffering request bodies. The gateway's whole process may use half a gigabyte. */
  readonly bufferBudget: BufferBudgetOptions;
}

const defaultBounds: GatewayServerLimits = {
  ...{ headersMs: 10_000, requestMs: 60_000, idleMs: 65_000, checkMs: 1_000, helloMs: 10_000 },
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
  deps: GatewayServerDeps,
  address: ListenAddress,
  given: Partial<GatewayServerLimits> = {},
): Promise<AsyncDisposable> {
  const bounds = { ...defaultBounds, ...given };
  const { helloMs, maxPerWorker } = bounds;
  const busy = new Map<string, number>();
  const connections = createConnectionLimiter(bounds.connections);
  const requestRate = openTokenBuckets(bounds.requestRate, () => performance.now());
  const callDeps: CallModelDeps = {
    ...deps,
    bufferBudget: createBufferBudget(bounds.bufferBudget),
    workerQueue: createCpuQueuePerWorker(),
  };
  const server = createServer(
    {
      maxHeaderSize: 16 << 10,
      headersTimeout: bounds.headersMs,
      requestTimeout: bounds.requestMs,
      ...{ keepAliveTimeout: bounds.idleMs, keepAliveTimeoutBuffer: bounds.checkMs },
      connectionsCheckingInterval: bounds.checkMs,
    },
    (request, response) => {
      serve(request, response).catch((error: unknown) => {
        deps.complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
        sendErrorAnswer(response, {
          status: 500,
          type: "api_error",
          message: "the gateway has an internal error",
        });
      });
    },
  );
  server.on("connection", (socket) => connections.add(socket));
  // Tracks tunnels separately: after CONNECT, Node's server no longer tracks the connection.
  const tunnels = new Set<Duplex>();
  server.on("connect", (request: IncomingMessage, client: Duplex, head: Buffer) => {
    tunnels.add(client);
    client.on("error", () => {}).once("close", () => tunnels.delete(client));
    serveConnect(request, client, head).catch((error: unknown) => {
      deps.complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
      client.destroy();
    });
  });
  server.on("clientError", (_error, socket) =>
    closeConnectionWithStatus(socket, "400 Bad Request", [], helloMs),
  );
  await listen(server, address);
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      for (const client of tunnels) client.destroy();
      await closed;
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { admitted, refusals } = deps;
    const target = request.url ?? "";
    const method = request.method ?? "";
    const route = parseRequestRoute(target);
    const tokens =
      route.kind === "mirror" ? [route.token] : findWorkerTokensInRequest(request.headers, target);
    const worker = admitted.findByToken(tokens, addressOf(request));
    const what = `${method} ${withoutToken(target)}`;
    const refuse = (why: RefusalReason, status: number, type: string, message: string): void => {
      refusals.refuse(worker?.worker ?? null, what, why);
      sendErrorAnswer(response, { status, type, message });
    };
    if (!/^1\.[01]$/.test(request.httpVersion)) {
      response.shouldKeepAlive = false;
      return refuse("form", 505, "invalid_request_error", "the gateway accepts HTTP/1.1 only");
    }
    if (!admitted.isReady)
      return sendErrorAnswer(
        response,
        unavailableAnswer("the owner has not admitted any worker to the gateway yet"),
      );
    if (worker === null) {
      refusals.refuse(null, what, "token");
      return sendErrorAnswer(response, forbiddenAnswer(unknownToken));
    }
    if (!connections.admit(request.socket, worker.worker)) {
      response.shouldKeepAlive = false;
      return sendErrorAnswer(response, tooMany);
    }
    if (route.kind === "none")
      return refuse(route.why, 403, "permission_error", "the gateway has no route for this URL path");
    await using slot = takeSlot(worker);
    if (slot === null) return sendErrorAnswer(response, tooMany);
    if (route.kind === "mirror") {
      const mirror = admitted.findMirror(worker, route.mirror);
      if (mirror === null)
        return refuse(
          "not-allowed",
          403,
          "permission_error",
          `access to ${route.mirror} is not allowed; swarm start --allow ${route.mirror} allows the access`,
        );
      const base = `http://${request.headers.host ?? ""}/r/${route.token}/${route.mirror}`;
      return serveMirrorRequest(
        request,
        response,
        { mirror, rest: route.rest, base },
        {
          refuse: (denied, why) => refusals.refuse(worker.worker, denied, why),
          onServed: (facts) => void appendToJournal({ type: "reached", worker: worker.worker, ...facts }),
          signal: admitted.revocationSignalOf(worker),
        },
      );
    }
    const endpoint = admitted.findEndpoint(worker, route.endpoint);
    if (endpoint === null)
      return refuse(
        "not-allowed",
        403,
        "permission_error",
        `the worker has no model endpoint named ${route.endpoint}`,
      );
    if (!isAllowedModelCall(endpoint.api, method, route.path))
      return refuse(
        "path",
        404,
        "not_found_error",
        "the gateway does not allow this call to the model's API",
      );
    const query = toForwardedQuery(endpoint, route.query);
    await callModel(callDeps, { worker, endpoint, path: route.path, query }, request, response);
  }

  async function serveConnect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const { admitted, refusals } = deps;
    const authority = request.url ?? "";
    if (!admitted.isReady)
      return closeConnectionWithStatus(client, "503 Service Unavailable", ["retry-after: 5"], helloMs);
    const shown = request.headers["proxy-authorization"];
    // Asks for credentials with a 407, because some clients send them only then.
    if (shown === undefined)
      return closeConnectionWithStatus(client, "407 Proxy Authentication Required", [askForToken], helloMs);
    const worker = admitted.findByToken(findWorkerTokensInConnectRequest(shown), addressOf(request));
    if (worker === null) {
      refusals.refuse(null, `CONNECT ${authority}`, "token");
      return closeConnectionWithStatus(client, "403 Forbidden", [], helloMs);
    }
    await using slot = connections.admit(request.socket, worker.worker) ? takeSlot(worker) : null;
    if (slot === null)
      return closeConnectionWithStatus(client, "429 Too Many Requests", ["retry-after: 1"], helloMs);
    await openTunnel(client, head, authority, {
      ...{ allow: worker.allow, resolve: deps.resolve, connect: deps.connect, helloMs },
      refuse: (what, why) => refusals.refuse(worker.worker, what, why),
      onEnded: (facts) => void appendToJournal({ type: "reached", worker: worker.worker, ...facts }),
      signal: admitted.revocationSignalOf(worker),
    });
  }

  function takeSlot({ worker }: AdmittedWorker): AsyncDisposable | null {
    const open = busy.get(worker) ?? 0;
    if (open >= maxPerWorker || !requestRate.allows(worker)) return null;
    busy.set(worker, open + 1);
    return {
      async [Symbol.asyncDispose]() {
        const left = (busy.get(worker) ?? 1) - 1;
        if (left > 0) busy.set(worker, left);
        else busy.delete(worker);
      },
    };
  }

  async function appendToJournal(entry: Parameters<typeof deps.journal.append>[0]): Promise<void> {
    await deps.journal
      .append(entry)
      .catch((error: unknown) =>
        deps.complain(`the gateway could not write an entry to its journal: ${String(error)}`),
      );
  }
}

/**
 * The error message for an unknown token. It contains words by which agents recognise a failed login, because
 * some agents ignore the rest of the answer.
 */
const unknownToken = "authentication failed, invalid x-api-key: the worker's token is unknown or revoked";
const askForToken = 'proxy-authenticate: Basic realm="swarm"';
const tooMany: ErrorAnswer = {
  ...{ status: 429, type: "rate_limit_error", message: "too many concurrent requests", retryAfterSeconds: 1 },
};

/** Returns the client's network address. Returns null if the client is connected through the Unix socket. */
function addressOf({ socket }: IncomingMessage): string | null {
  return socket.remoteAddress?.replace(/^::ffff:/, "") ?? null;
}

/**
 * Returns a request's target as the journal records it: without the query, and without any token in the path.
 * Also accepts malformed targets.
 */
function withoutToken(target: string): string {
  return (target.split("?")[0] ?? "").replace(/(\/r\/+)[^/]+/, "$1*");
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
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
}
