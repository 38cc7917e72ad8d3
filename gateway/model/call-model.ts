import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { AdmittedWorker, ModelEndpoint } from "../../src/contract/gateway.ts";
import { spendingOfCall } from "../../src/usage/spending.ts";
import type { AdmittedWorkers } from "../accounts/admitted-workers.ts";
import type { Journal } from "../accounts/journal.ts";
import type { RateLimitTracker } from "../accounts/rate-limit-tracker.ts";
import type { RefusedRequestJournal } from "../accounts/refused-request-journal.ts";
import type { SpendingLedger } from "../accounts/spending-ledger.ts";
import { abandonedSignal } from "../http/abandoned-signal.ts";
import type { OpenBufferLease } from "../http/buffer-budget.ts";
import { sendErrorAnswer } from "../http/error-answers.ts";
import { bufferFullMessage, receiveModelCallBody } from "../http/receive-call-body.ts";
import type { RunInWorkerQueue } from "../http/worker-cpu-queue.ts";
import { createUsageReader } from "../usage/usage-reader.ts";
import {
  buildModelRequestHeaders,
  credentialForModelEndpoint,
  credentialFromLoginToken,
  type ModelCallCredential,
} from "./credentials.ts";
import { type PreparedModelCall, prepareModelCall } from "./estimate-call-usage.ts";
import { type ForwardedModelAnswer, forwardModelAnswer, noAnswer } from "./forward-answer.ts";
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
  readonly openLease: OpenBufferLease;
  readonly workerQueue: RunInWorkerQueue;
  readonly now: () => number;
}

export interface ModelCall {
  readonly worker: AdmittedWorker;
  readonly endpoint: ModelEndpoint;
  readonly path: string;
  readonly query: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
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
export async function callModel(deps: CallModelDeps, call: ModelCall): Promise<void> {
  const { admitted, limits, now } = deps;
  const { worker, endpoint, request, response } = call;
  const abandoned = abandonedSignal(response, admitted.revocationSignalOf(worker));
  if (refuseIfExhausted(deps, call)) return;
  const until = limits.findLimitEnd(endpoint.name);
  if (until !== null && !(await isOver(until - now(), abandoned))) {
    const seconds = Math.max(1, Math.ceil((until - now()) / 1000));
    sendErrorAnswer(response, 429, "the model's API accepts no calls at present; retry later", seconds);
    return journalLimit(deps, call, 429, until);
  }
  using lease = deps.openLease(worker.worker);
  const body = await receiveModelCallBody(request, response, lease);
  if (body === null) return;
  const credential = await credentialForModelEndpoint(endpoint, deps.logins).catch((error: unknown) => {
    if (!(error instanceof LoginRenewalError)) throw error;
    if (error.isFinal)
      sendErrorAnswer(response, 403, `authentication failed, invalid x-api-key: ${error.message}`);
    else sendErrorAnswer(response, 503, error.message);
    return null;
  });
  if (credential === null || abandoned.aborted) return;
  const prepared = await deps.workerQueue(worker.worker, () =>
    prepareModelCall(endpoint.api, call.path, body, request.headers["content-encoding"]),
  );
  // Takes more memory for a changed body, which is uncompressed and so may be larger than the received one.
  if (prepared.isChanged && !lease.take(prepared.body.length))
    return sendErrorAnswer(response, 429, bufferFullMessage);
  await executeCall(deps, call, { prepared, credential, abandoned });
}

/**
 * Refuses a model call if a budget of the worker or the swarm is used up. Returns whether it refused the
 * call.
 */
function refuseIfExhausted(
  { ledger, refusals }: CallModelDeps,
  { worker, path, request, response }: ModelCall,
): boolean {
  const exhausted = ledger.exhausted(worker);
  if (exhausted === null) return false;
  refusals.refuse(worker.worker, `${request.method} ${path}`, "budget");
  sendErrorAnswer(response, 403, budgetWords(exhausted));
  return true;
}

interface ModelExchange {
  readonly prepared: PreparedModelCall;
  readonly credential: ModelCallCredential;
  readonly abandoned: AbortSignal;
}

async function executeCall(deps: CallModelDeps, call: ModelCall, exchange: ModelExchange): Promise<void> {
  const { ledger } = deps;
  const { worker, response } = call;
  const { model, counts } = exchange.prepared;
  const maxCost = spendingOfCall(deps.admitted.prices, model, counts);
  // Checks the budgets again, since receiving the body took time. No other call can start between this check and
  // `ledger.begin`.
  if (exchange.abandoned.aborted || refuseIfExhausted(deps, call)) return;
  if (ledger.callsInFlight(worker.worker) >= maxUncheckedCalls && !ledger.canAfford(worker, maxCost))
    return sendErrorAnswer(response, 429, "the remaining budget is too small for more concurrent calls", 5);
  using _inFlight = ledger.begin(worker.worker, maxCost);
  let seq: number;
  try {
    seq = await deps.journal.append({
      type: "opened",
      worker: worker.worker,
      endpoint: call.endpoint.name,
      method: call.request.method ?? "",
      path: call.path.slice(0, 300),
      model,
      reserve: maxCost,
    });
  } catch {
    return sendErrorAnswer(response, 503, "the gateway cannot write to its journal");
  }
  const startedAt = performance.now();
  let outcome = noAnswer;
  try {
    outcome = await ask(deps, call, exchange);
  } finally {
    await recordEndedModelCall(deps, call, { seq, model, maxCost, outcome, startedAt });
  }
}

async function ask(
  deps: CallModelDeps,
  call: ModelCall,
  { prepared: { body, isChanged }, credential: first, abandoned }: ModelExchange,
): Promise<ForwardedModelAnswer> {
  const { endpoint, request, response } = call;
  const { method = "GET" } = request;
  let credential = first;
  for (let isSecond = false; ; isSecond = true) {
    const headers = buildModelRequestHeaders(endpoint, request.headers, credential);
    if (isChanged) delete headers["content-encoding"];
    const target = `${call.path}${call.query}`;
    const upstream = await sendModelCall({ method, url: endpoint.url, target, headers, body }, abandoned);
    if (upstream.kind === "failed") {
      const message = `the model endpoint ${endpoint.name} cannot be reached: ${upstream.why}`;
      if (!abandoned.aborted) sendErrorAnswer(response, 502, message);
      return { ...noAnswer, wasSent: upstream.wasSent };
    }
    const { answer } = upstream;
    const another = isSecond ? null : await renewedCredential(deps, endpoint, answer, credential);
    if (another !== null) {
      answer.on("error", () => {}).destroy();
      credential = another;
      continue;
    }
    const reader =
      endpoint.api && createUsageReader(endpoint.api, String(answer.headers["content-type"] ?? ""));
    const outcome = await forwardModelAnswer(answer, { response, abandoned }, credential.secrets, reader);
    await noteLimit(deps, call, answer, outcome);
    return outcome;
  }
}

/**
 * If the API refused the token of a subscription's login (401), renews the token and returns the new
 * credential. Returns null after any other answer, or if the renewal fails.
 */
async function renewedCredential(
  { logins }: CallModelDeps,
  endpoint: ModelEndpoint,
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
  const { name, api } = call.endpoint;
  if (status < 400 || api === null) return;
  const header = (wanted: string): string | undefined => [headers[wanted]].flat()[0];
  const until = parseRateLimitEnd(api, { status, header, body: errorBeginning }, new Date(deps.now()));
  if (until === null || !deps.limits.setLimit(name, until.getTime())) return;
  await journalLimit(deps, call, status, until.getTime());
}

/**
 * Records an endpoint's rate limit in the gateway's journal, once for each worker that meets it, so that the
 * host can pause that worker.
 */
async function journalLimit(
  { limits, journal }: CallModelDeps,
  { worker: { worker }, endpoint: { name: endpoint } }: ModelCall,
  status: number,
  until: number,
): Promise<void> {
  if (!limits.isNewTo(endpoint, worker)) return;
  await journal.append({ type: "limited", worker, endpoint, status, until: new Date(until).toISOString() });
}

async function isOver(waitMs: number, abandoned: AbortSignal): Promise<boolean> {
  if (waitMs > maxHoldMs) return false;
  await delay(Math.max(0, waitMs), undefined, { signal: abandoned }).catch(() => {});
  return !abandoned.aborted;
}

function budgetWords({ worker, of, limit }: { worker: string | null; of: string; limit: number }): string {
  const amount = of === "usd" ? `$${limit}` : `${limit} tokens`;
  const whose = worker === null ? "the swarm's" : "this worker's";
  return `${whose} budget of ${amount} is used up; the work is kept, and swarm retry continues with a larger budget`;
}
