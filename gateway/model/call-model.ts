import type { IncomingMessage, ServerResponse } from "node:http";
import type { AdmittedWorker, ModelEndpoint } from "../../src/contract/gateway.ts";
import { spendingOfCall } from "../../src/usage/spending.ts";
import type { AdmittedWorkers } from "../accounts/admitted-workers.ts";
import type { Journal } from "../accounts/journal.ts";
import type { RateLimitTracker } from "../accounts/rate-limit-tracker.ts";
import type { RefusedRequestJournal } from "../accounts/refused-request-journal.ts";
import type { SpendingLedger } from "../accounts/spending-ledger.ts";
import type { BufferBudget, BufferLease } from "../http/buffer-budget.ts";
import {
  bufferFullAnswer,
  forbiddenAnswer,
  sendErrorAnswer,
  unavailableAnswer,
} from "../http/error-answers.ts";
import { receiveModelCallBody } from "../http/receive-call-body.ts";
import type { RunInWorkerQueue } from "../http/worker-cpu-queue.ts";
import { zeroTokenCounts } from "../usage/read-usage.ts";
import { createUsageReader } from "../usage/usage-reader.ts";
import {
  buildModelRequestHeaders,
  credentialForModelEndpoint,
  credentialFromLoginToken,
  type ModelCallCredential,
} from "./credentials.ts";
import {
  addIncludeUsage,
  estimateModelCallUsage,
  type ForwardedRequestBody,
  type ModelCallUsageEstimate,
} from "./estimate-call-usage.ts";
import { type ForwardedModelAnswer, forwardModelAnswer } from "./forward-answer.ts";
import { parseRateLimitEnd } from "./parse-rate-limit.ts";
import { recordEndedModelCall } from "./record-ended-call.ts";
import { sendModelCall } from "./send-model-call.ts";
import { LoginRenewalError, type SubscriptionLogins } from "./subscription-logins.ts";

export interface CallModelDeps {
  readonly admitted: AdmittedWorkers;
  readonly ledger: SpendingLedger;
  readonly journal: Journal;
  readonly limits: RateLimitTracker;
  readonly logins: SubscriptionLogins;
  readonly refusals: RefusedRequestJournal;
  readonly bufferBudget: BufferBudget;
  readonly workerQueue: RunInWorkerQueue;
  readonly now: () => number;
}

export interface ModelCall {
  readonly worker: AdmittedWorker;
  readonly endpoint: ModelEndpoint;
  readonly path: string;
  readonly query: string;
}

/** How long, in milliseconds, the gateway may delay a call until a rate limit ends. */
const maxHoldMs = 20_000;
/**
 * While a worker has at least this many calls in flight, the gateway checks the estimated cost of each
 * further call. It refuses the call if the estimate exceeds the remaining budget.
 */
const maxUncheckedCalls = 8;

/**
 * Forwards an agent's call to the model's API with the real credential. Records the call's usage in the
 * gateway's journal.
 */
export async function callModel(
  deps: CallModelDeps,
  call: ModelCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { admitted, limits, now, bufferBudget } = deps;
  const { worker, endpoint } = call;
  const abandoned = abandonedSignal(response, admitted.revocationSignalOf(worker));
  if (refuseIfExhausted(deps, call, request, response)) return;
  const until = limits.findLimitEnd(endpoint.name);
  if (until !== null && !(await isOver(until, now, abandoned))) {
    sendErrorAnswer(response, {
      ...{
        status: 429,
        type: "rate_limit_error",
        message: "the model's API accepts no calls at present; retry later",
      },
      retryAfterSeconds: Math.max(1, Math.ceil((until - now()) / 1000)),
    });
    return journalLimit(deps, call, { status: 429, until });
  }
  using lease = bufferBudget.open(worker.worker);
  const body = await receiveModelCallBody(request, response, lease);
  if (body === null) return;
  const credential = await credentialForModelEndpoint(endpoint, deps.logins).catch((error: unknown) => {
    if (!(error instanceof LoginRenewalError)) throw error;
    const message = `authentication failed, invalid x-api-key: ${error.message}`;
    sendErrorAnswer(response, error.isFinal ? forbiddenAnswer(message) : unavailableAnswer(error.message));
    return null;
  });
  if (credential === null || abandoned.aborted) return;
  await executeCall(deps, call, { request, response, body, lease, credential, abandoned });
}

/**
 * Refuses a model call if a budget of the worker or the swarm is used up. Returns whether it refused the
 * call.
 */
function refuseIfExhausted(
  { ledger, refusals }: CallModelDeps,
  { worker, path }: ModelCall,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const exhausted = ledger.exhausted(worker);
  if (exhausted === null) return false;
  refusals.refuse(worker.worker, `${request.method} ${path}`, "budget");
  sendErrorAnswer(response, forbiddenAnswer(budgetWords(exhausted)));
  return true;
}

interface ModelExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly lease: BufferLease;
  readonly credential: ModelCallCredential;
  readonly abandoned: AbortSignal;
}

async function executeCall(deps: CallModelDeps, call: ModelCall, exchange: ModelExchange): Promise<void> {
  const { admitted, ledger, journal, now } = deps;
  const { worker, endpoint, path } = call;
  const { request, response } = exchange;
  const { estimate, forwarded } = await deps.workerQueue(worker.worker, () =>
    estimateAndRewrite(call, exchange),
  );
  // Takes more memory for a changed body, which is uncompressed and so may be larger than the received one.
  if (forwarded.isChanged && !exchange.lease.take(forwarded.body.length))
    return sendErrorAnswer(response, bufferFullAnswer);
  const maxCost = spendingOfCall(admitted.prices, estimate.model, estimate.counts);
  // Checks the budgets again, since receiving the body took time. No other call can start between this check and
  // `ledger.begin`.
  if (exchange.abandoned.aborted || refuseIfExhausted(deps, call, request, response)) return;
  if (ledger.callsInFlight(worker.worker) >= maxUncheckedCalls && !ledger.canAfford(worker, maxCost))
    return sendErrorAnswer(response, {
      ...{
        status: 429,
        type: "rate_limit_error",
        message: "the remaining budget is too small for more concurrent calls",
      },
      retryAfterSeconds: 5,
    });
  using _inFlight = ledger.begin(worker.worker, maxCost);
  const opened = { type: "opened" as const, worker: worker.worker, endpoint: endpoint.name };
  const facts = { method: request.method ?? "", path: path.slice(0, 300), model: estimate.model };
  let seq: number;
  try {
    seq = await journal.append({ ...opened, ...facts, reserve: maxCost });
  } catch {
    return sendErrorAnswer(response, unavailableAnswer("the gateway cannot write to its journal"));
  }
  const at = new Date(now()).toISOString();
  ledger.apply({ ...opened, ...facts, reserve: maxCost, seq, at });
  const startedAt = performance.now();
  let outcome: ForwardedModelAnswer = { ...noAnswer, wasSent: true };
  try {
    outcome = await ask(deps, call, { ...exchange, forwarded });
  } finally {
    await recordEndedModelCall(deps, call, { seq, model: estimate.model, maxCost, outcome, startedAt });
  }
}

/**
 * Estimates the maximum usage of a model call. Changes the call's body if the API reports usage only when the
 * request asks for it.
 */
function estimateAndRewrite(
  { endpoint: { api }, path }: ModelCall,
  { request, body }: ModelExchange,
): { readonly estimate: ModelCallUsageEstimate; readonly forwarded: ForwardedRequestBody } {
  const encoding = request.headers["content-encoding"];
  if (api === null)
    return { estimate: { model: null, counts: zeroTokenCounts }, forwarded: { body, isChanged: false } };
  return {
    estimate: estimateModelCallUsage(api, path, body, encoding),
    forwarded: addIncludeUsage(api, path, body, encoding),
  };
}

async function ask(
  deps: CallModelDeps,
  call: ModelCall,
  exchange: ModelExchange & { readonly forwarded: ForwardedRequestBody },
): Promise<ForwardedModelAnswer> {
  const { endpoint, path, query } = call;
  const { request, response, abandoned, forwarded } = exchange;
  const method = request.method ?? "GET";
  let { credential } = exchange;
  for (let isSecond = false; ; isSecond = true) {
    const headers = buildModelRequestHeaders(endpoint, request.headers, credential);
    if (forwarded.isChanged) delete headers["content-encoding"];
    const sending = { method, url: endpoint.url, target: `${path}${query}`, headers, body: forwarded.body };
    const upstream = await sendModelCall(sending, abandoned);
    if (upstream.kind === "failed") {
      const message = `the model endpoint ${endpoint.name} cannot be reached: ${upstream.why}`;
      if (!abandoned.aborted) sendErrorAnswer(response, { status: 502, type: "api_error", message });
      return { ...noAnswer, wasSent: upstream.wasSent };
    }
    const another = isSecond ? null : await renewedCredential(deps, call, upstream.answer, credential);
    if (another !== null) {
      upstream.answer.on("error", () => {}).destroy();
      credential = another;
      continue;
    }
    const reader =
      endpoint.api === null
        ? null
        : createUsageReader(endpoint.api, String(upstream.answer.headers["content-type"] ?? ""));
    const outcome = await forwardModelAnswer(upstream.answer, response, {
      secrets: credential.secrets,
      reader,
      abandoned,
    });
    await noteLimit(deps, call, upstream.answer, outcome);
    return outcome;
  }
}

/**
 * If the API refused the token of a subscription's login (401), renews the token and returns the new
 * credential. Returns null after any other answer, or if the renewal fails.
 */
async function renewedCredential(
  { logins }: CallModelDeps,
  { endpoint }: ModelCall,
  { statusCode }: IncomingMessage,
  { loginToken }: ModelCallCredential,
): Promise<ModelCallCredential | null> {
  const { credential } = endpoint;
  if (statusCode !== 401 || loginToken === null || credential.kind !== "login") return null;
  try {
    const token = await logins.renewed(endpoint, credential, loginToken);
    return token === null ? null : credentialFromLoginToken(token);
  } catch (error) {
    if (error instanceof LoginRenewalError) return null;
    throw error;
  }
}

async function noteLimit(
  deps: CallModelDeps,
  call: ModelCall,
  { headers }: IncomingMessage,
  { status, errorBeginning }: ForwardedModelAnswer,
): Promise<void> {
  const { limits, now } = deps;
  const { endpoint } = call;
  if (status < 400 || endpoint.api === null) return;
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === "string" ? value : value?.[0];
  };
  const until = parseRateLimitEnd(endpoint.api, { status, header, body: errorBeginning }, new Date(now()));
  if (until === null || !limits.setLimit(endpoint.name, until.getTime())) return;
  await journalLimit(deps, call, { status, until: until.getTime() });
}

/**
 * Records an endpoint's rate limit in the gateway's journal, once for each worker that meets it, so that the
 * host can pause that worker.
 */
async function journalLimit(
  { limits, journal }: CallModelDeps,
  { worker, endpoint }: ModelCall,
  { status, until }: { readonly status: number; readonly until: number },
): Promise<void> {
  if (!limits.isNewTo(endpoint.name, worker.worker)) return;
  await journal.append({
    ...{ type: "limited", worker: worker.worker, endpoint: endpoint.name },
    ...{ status, until: new Date(until).toISOString() },
  });
}

const noAnswer: ForwardedModelAnswer = {
  ...{ status: 0, bytes: 0, firstByteAt: null, usage: null, errorBeginning: "", wasSent: false },
};

/**
 * Returns a signal that aborts when the client disconnects before its answer is complete, or when the host
 * withdraws the worker's permission to use the gateway.
 */
function abandonedSignal(response: ServerResponse, revoked: AbortSignal): AbortSignal {
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort(new Error("The client disconnected"));
  });
  return AbortSignal.any([left.signal, revoked]);
}

async function isOver(until: number, now: () => number, abandoned: AbortSignal): Promise<boolean> {
  const waitMs = until - now();
  if (waitMs > maxHoldMs) return false;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, waitMs));
    abandoned.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  return !abandoned.aborted;
}

function budgetWords({ worker, of, limit }: { worker: string | null; of: string; limit: number }): string {
  const amount = of === "usd" ? `$${limit}` : `${limit} tokens`;
  const whose = worker === null ? "the swarm's" : "this worker's";
  return `${whose} budget of ${amount} is used up; the work is kept, and swarm retry continues with a larger budget`;
}
