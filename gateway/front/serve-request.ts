import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { AdmittedWorker, RefusalReason } from "../../src/contract/gateway.ts";
import type { AccessReports } from "../http/access-reports.ts";
import { closeConnectionWithStatus } from "../http/close-connection.ts";
import { type ErrorStatus, sendErrorAnswer } from "../http/error-answers.ts";
import { serveMirrorRequest } from "../mirror/serve-mirror-request.ts";
import { type CallModelDeps, callModel } from "../model/call-model.ts";
import { toForwardedQuery } from "../model/forwarded-headers.ts";
import { openTunnel, type TunnelDeps } from "../tunnel/open-tunnel.ts";
import {
  findWorkerTokensInConnectRequest,
  findWorkerTokensInRequest,
  isAllowedModelCall,
  parseRequestRoute,
} from "./request-route.ts";
import type { WorkerSlots } from "./worker-slots.ts";

/** What the gateway needs to serve its clients in sandboxes. */
export interface Front {
  readonly calls: CallModelDeps;
  readonly tunnels: Pick<TunnelDeps, "resolve" | "connect" | "helloMs">;
  readonly slots: WorkerSlots;
  readonly complain: (line: string) => void;
}

/**
 * The error message for an unknown token. It contains words by which agents recognise a failed login, because
 * some agents ignore the rest of the answer.
 */
const unknownToken = "authentication failed, invalid x-api-key: the worker's token is unknown or revoked";
const tooMany = "too many concurrent requests";

/** Serves a request to a model's API or to a package registry. */
export async function serveRequest(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { slots, calls } = front;
  const { admitted } = calls;
  const { url: target = "", method = "" } = request;
  const route = parseRequestRoute(target);
  const tokens = route.kind === "mirror" ? [route.token] : findWorkerTokensInRequest(request.headers, target);
  const worker = admitted.findByToken(tokens, addressOf(request));
  const refuse = (why: RefusalReason, status: ErrorStatus, message: string): void => {
    calls.refusals.refuse(worker?.worker ?? null, `${method} ${withoutToken(target)}`, why);
    sendErrorAnswer(response, status, message);
  };
  if (!/^1\.[01]$/.test(request.httpVersion)) {
    response.shouldKeepAlive = false;
    return refuse("form", 505, "the gateway accepts HTTP/1.1 only");
  }
  if (!admitted.isReady)
    return sendErrorAnswer(response, 503, "the owner has not admitted any worker to the gateway yet");
  if (worker === null) return refuse("token", 403, unknownToken);
  if (!slots.admit(request.socket, worker.worker)) {
    response.shouldKeepAlive = false;
    return sendErrorAnswer(response, 429, tooMany);
  }
  if (route.kind === "none") return refuse(route.why, 403, "the gateway has no route for this URL path");
  using slot = slots.take(worker.worker);
  if (slot === null) return sendErrorAnswer(response, 429, tooMany);
  if (route.kind === "mirror") {
    const mirror = admitted.findMirror(worker, route.mirror);
    if (mirror === null)
      return refuse(
        "not-allowed",
        403,
        `access to ${route.mirror} is not allowed; swarm start --allow ${route.mirror} allows the access`,
      );
    const base = `http://${request.headers.host ?? ""}/r/${route.token}/${route.mirror}`;
    const subject = { mirror, rest: route.rest, base };
    return serveMirrorRequest(request, response, subject, reportsFor(front, worker));
  }
  const endpoint = admitted.findEndpoint(worker, route.endpoint);
  if (endpoint === null)
    return refuse("not-allowed", 403, `the worker has no model endpoint named ${route.endpoint}`);
  if (!isAllowedModelCall(endpoint.api, method, route.path))
    return refuse("path", 404, "the gateway does not allow this call to the model's API");
  const query = toForwardedQuery(endpoint, route.query);
  await callModel(calls, { worker, endpoint, path: route.path, query, request, response });
}

/** Serves a CONNECT request, with which a client opens a tunnel to a host. */
export async function serveConnect(
  front: Front,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const { slots, tunnels } = front;
  const { admitted, refusals } = front.calls;
  const { url: authority = "" } = request;
  const close = (status: string, ...headers: readonly string[]): void =>
    closeConnectionWithStatus(client, tunnels.helloMs, status, headers);
  if (!admitted.isReady) return close("503 Service Unavailable", "retry-after: 5");
  const shown = request.headers["proxy-authorization"];
  // Asks for credentials with a 407, because some clients send them only then.
  if (shown === undefined)
    return close("407 Proxy Authentication Required", 'proxy-authenticate: Basic realm="swarm"');
  const worker = admitted.findByToken(findWorkerTokensInConnectRequest(shown), addressOf(request));
  if (worker === null) {
    refusals.refuse(null, `CONNECT ${authority}`, "token");
    return close("403 Forbidden");
  }
  using slot = slots.admit(request.socket, worker.worker) ? slots.take(worker.worker) : null;
  if (slot === null) return close("429 Too Many Requests", "retry-after: 1");
  const deps = { allow: worker.allow, ...tunnels, ...reportsFor(front, worker) };
  await openTunnel(client, head, authority, deps);
}

/** Returns how a worker's registry requests and tunnels report to the gateway's journal, and what ends them. */
function reportsFor(
  { calls: { refusals, journal, admitted }, complain }: Front,
  worker: AdmittedWorker,
): AccessReports {
  const { worker: name } = worker;
  return {
    refuse: (what, why) => refusals.refuse(name, what, why),
    onEnded: (facts) =>
      void journal
        .append({ type: "reached", worker: name, ...facts })
        .catch((error: unknown) =>
          complain(`the gateway could not write an entry to its journal: ${String(error)}`),
        ),
    signal: admitted.revocationSignalOf(worker),
  };
}

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
