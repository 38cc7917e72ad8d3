import type { IncomingMessage, ServerResponse } from "node:http";
import type { AdmittedWorker, ModelEndpoint } from "../src/domain/generated/gateway.ts";
import { spendingOf } from "../src/domain/spending.ts";
import type { Admitted } from "./admitted.ts";
import { answerError, noRoom, notLetIn, notReady } from "./answers.ts";
import type { BufferBudget, BufferLease } from "./body-room.ts";
import { closeCall } from "./close-call.ts";
import { type CallCredential, credentialFor, headersToModel, loginCredential } from "./credentials.ts";
import type { WorkerQueue } from "./in-turn.ts";
import type { Journal } from "./journal.ts";
import type { Ledger } from "./ledger.ts";
import { limitedUntil } from "./limit-facts.ts";
import type { Limits } from "./limits.ts";
import { LoginFailed, type Logins } from "./logins.ts";
import { type PassedAnswer, passAnswer } from "./pass-answer.ts";
import { noTokens } from "./read-usage.ts";
import { receiveBody } from "./receive-body.ts";
import type { Refusals } from "./refusals.ts";
import { type AskedBody, type Reserve, reserveFor, withUsageAsked } from "./reserve.ts";
import { sendCall } from "./send-call.ts";
import { usageReader } from "./usage-reader.ts";

export interface CallDeps {
  readonly admitted: Admitted;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly limits: Limits;
  readonly logins: Logins;
  readonly refusals: Refusals;
  readonly room: BufferBudget;
  readonly inTurn: WorkerQueue;
  readonly now: () => number;
}

export interface ModelCall {
  readonly worker: AdmittedWorker;
  readonly endpoint: ModelEndpoint;
  readonly path: string;
  readonly query: string;
}

/** The longest that a call is held back until a rate limit ends. */
const heldMs = 20_000;
/** The calls in flight per worker below which their estimated costs may exceed what is left of a budget. */
const maxBold = 8;

/** Forwards a call to its model with the real credential, and journals its usage. */
export async function callModel(
  deps: CallDeps,
  call: ModelCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { admitted, limits, now, room } = deps;
  const { worker, endpoint } = call;
  const gone = goneSignal(response, admitted.signalOf(worker));
  if (isShut(deps, call, request, response)) return;
  const until = limits.until(endpoint.name);
  if (until !== null && !(await isOver(until, now, gone))) {
    answerError(response, {
      ...{ status: 429, type: "rate_limit_error", message: "the model's API accepts no calls for now" },
      retryAfterSeconds: Math.max(1, Math.ceil((until - now()) / 1000)),
    });
    return tellLimit(deps, call, { status: 429, until });
  }
  using taken = room.open(worker.worker);
  const body = await receiveBody(request, response, taken);
  if (body === null) return;
  const credential = await credentialFor(endpoint, deps.logins).catch((error: unknown) => {
    if (!(error instanceof LoginFailed)) throw error;
    const message = `authentication failed, invalid x-api-key: ${error.message}`;
    answerError(response, error.isFinal ? notLetIn(message) : notReady(error.message));
    return null;
  });
  if (credential === null || gone.aborted) return;
  await executeCall(deps, call, { request, response, body, taken, credential, gone });
}

/** Whether a budget of the worker or the swarm is used up; answers the call if so. */
function isShut(
  { ledger, refusals }: CallDeps,
  { worker, path }: ModelCall,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const shut = ledger.exhausted(worker);
  if (shut === null) return false;
  refusals.refuse(worker.worker, `${request.method} ${path}`, "budget");
  answerError(response, notLetIn(budgetWords(shut)));
  return true;
}

interface ModelExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly taken: BufferLease;
  readonly credential: CallCredential;
  readonly gone: AbortSignal;
}

async function executeCall(deps: CallDeps, call: ModelCall, asked: ModelExchange): Promise<void> {
  const { admitted, ledger, journal, now } = deps;
  const { worker, endpoint, path } = call;
  const { request, response } = asked;
  const { reserve, changed } = await deps.inTurn(worker.worker, () => lookInto(call, asked));
  // A changed body is decompressed by now, and so may be larger than the one received.
  if (changed.isChanged && !asked.taken.take(changed.body.length)) return answerError(response, noRoom);
  const most = spendingOf(admitted.prices, reserve.model, reserve.counts);
  // Checks again, since receiving the body took time. Nothing interleaves from here to `ledger.begin`.
  if (asked.gone.aborted || isShut(deps, call, request, response)) return;
  if (ledger.openOf(worker.worker) >= maxBold && !ledger.holds(worker, most))
    return answerError(response, {
      ...{
        status: 429,
        type: "rate_limit_error",
        message: "too many at once for what is left of the budget",
      },
      retryAfterSeconds: 5,
    });
  using _underWay = ledger.begin(worker.worker, most);
  const opened = { type: "opened" as const, worker: worker.worker, endpoint: endpoint.name };
  const facts = { method: request.method ?? "", path: path.slice(0, 300), model: reserve.model };
  let seq: number;
  try {
    seq = await journal.append({ ...opened, ...facts, reserve: most });
  } catch {
    return answerError(response, notReady("the gateway cannot write its journal"));
  }
  const at = new Date(now()).toISOString();
  ledger.take({ ...opened, ...facts, reserve: most, seq, at });
  const begun = performance.now();
  let passed: PassedAnswer = { ...noAnswer, isHeard: true };
  try {
    passed = await ask(deps, call, { ...asked, changed });
  } finally {
    await closeCall(deps, call, { seq, model: reserve.model, most, passed, begun });
  }
}

/** The estimated cost of a call, and the body to forward. */
function lookInto(
  { endpoint: { api }, path }: ModelCall,
  { request, body }: ModelExchange,
): { readonly reserve: Reserve; readonly changed: AskedBody } {
  const encoding = request.headers["content-encoding"];
  if (api === null)
    return { reserve: { model: null, counts: noTokens }, changed: { body, isChanged: false } };
  return {
    reserve: reserveFor(api, path, body, encoding),
    changed: withUsageAsked(api, path, body, encoding),
  };
}

async function ask(
  deps: CallDeps,
  call: ModelCall,
  asked: ModelExchange & { readonly changed: AskedBody },
): Promise<PassedAnswer> {
  const { endpoint, path, query } = call;
  const { request, response, gone, changed } = asked;
  const method = request.method ?? "GET";
  let { credential } = asked;
  for (let isSecond = false; ; isSecond = true) {
    const headers = headersToModel(endpoint, request.headers, credential);
    if (changed.isChanged) delete headers["content-encoding"];
    const sending = { method, url: endpoint.url, target: `${path}${query}`, headers, body: changed.body };
    const upstream = await sendCall(sending, gone);
    if (upstream.kind === "failed") {
      const message = `${endpoint.name} cannot be reached: ${upstream.why}`;
      if (!gone.aborted) answerError(response, { status: 502, type: "api_error", message });
      return { ...noAnswer, isHeard: upstream.wasSent };
    }
    const another = isSecond ? null : await otherCredential(deps, call, upstream.answer, credential);
    if (another !== null) {
      upstream.answer.on("error", () => {}).destroy();
      credential = another;
      continue;
    }
    const reader =
      endpoint.api === null
        ? null
        : usageReader(endpoint.api, String(upstream.answer.headers["content-type"] ?? ""));
    const passed = await passAnswer(upstream.answer, response, { secrets: credential.secrets, reader, gone });
    await noteLimit(deps, call, upstream.answer, passed);
    return passed;
  }
}

/** A renewed credential after the API refused a login's token; null when there is none. */
async function otherCredential(
  { logins }: CallDeps,
  { endpoint }: ModelCall,
  { statusCode }: IncomingMessage,
  { loginToken }: CallCredential,
): Promise<CallCredential | null> {
  const { credential } = endpoint;
  if (statusCode !== 401 || loginToken === null || credential.kind !== "login") return null;
  try {
    const token = await logins.renewed(endpoint, credential, loginToken);
    return token === null ? null : loginCredential(token);
  } catch (error) {
    if (error instanceof LoginFailed) return null;
    throw error;
  }
}

async function noteLimit(
  deps: CallDeps,
  call: ModelCall,
  { headers }: IncomingMessage,
  { status, beginning }: PassedAnswer,
): Promise<void> {
  const { limits, now } = deps;
  const { endpoint } = call;
  if (status < 400 || endpoint.api === null) return;
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === "string" ? value : value?.[0];
  };
  const until = limitedUntil(endpoint.api, { status, header, body: beginning }, new Date(now()));
  if (until === null || !limits.limit(endpoint.name, until.getTime())) return;
  await tellLimit(deps, call, { status, until: until.getTime() });
}

/** Journals a limit once for each worker that meets it, so that the host can pause that worker. */
async function tellLimit(
  { limits, journal }: CallDeps,
  { worker, endpoint }: ModelCall,
  { status, until }: { readonly status: number; readonly until: number },
): Promise<void> {
  if (!limits.isNewTo(endpoint.name, worker.worker)) return;
  await journal.append({
    ...{ type: "limited", worker: worker.worker, endpoint: endpoint.name },
    ...{ status, until: new Date(until).toISOString() },
  });
}

const noAnswer: PassedAnswer = {
  ...{ status: 0, bytes: 0, firstByteAt: null, read: null, beginning: "", isHeard: false },
};

/** Aborts when the client disconnects before its answer is complete, or the worker is revoked. */
function goneSignal(response: ServerResponse, revoked: AbortSignal): AbortSignal {
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort(new Error("The client disconnected"));
  });
  return AbortSignal.any([left.signal, revoked]);
}

async function isOver(until: number, now: () => number, gone: AbortSignal): Promise<boolean> {
  const waitMs = until - now();
  if (waitMs > heldMs) return false;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, waitMs));
    gone.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  return !gone.aborted;
}

function budgetWords({ worker, of, limit }: { worker: string | null; of: string; limit: number }): string {
  const amount = of === "usd" ? `$${limit}` : `${limit} tokens`;
  const whose = worker === null ? "the swarm's" : "this worker's";
  return `${whose} budget of ${amount} is used up; its work is kept, and swarm retry goes on with a larger one`;
}
