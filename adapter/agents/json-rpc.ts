import { cleanText } from "../../src/domain/clean-text.ts";
import type { AgentProgram } from "./agent.ts";
import { fieldsOf, idOf, type JsonObject, numberOf, parseLine, textOf } from "./fields.ts";

/** An error that the peer answered. */
export class RpcError extends Error {
  readonly code: number;
  readonly details: unknown;

  constructor(code: number, message: string, details?: unknown) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.details = details;
  }
}

/** The peer ended without an answer. */
export class RpcClosed extends Error {
  constructor() {
    super("it ended without an answer");
    this.name = "RpcClosed";
  }
}

/** The peer violated the protocol; the adapter reads no more from it. */
export class RpcViolation extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RpcViolation";
  }
}

export interface Incoming {
  /** Returns the result to answer with; undefined for an unknown method. */
  onRequest(method: string, params: JsonObject): unknown;
  onNotification(method: string, params: JsonObject): void;
}

export interface JsonRpc {
  /** Rejects with an `RpcError`, `RpcClosed` or `RpcViolation`. */
  request(method: string, params: JsonObject): Promise<JsonObject>;
  notify(method: string, params: JsonObject): void;
}

const methodNotFound = -32601;
/** At this many unread answers the adapter stops reading from the agent, for at most `patienceMs`. */
const maxUnread = 1_000;
const patienceMs = 10_000;
const shownMethod = 100;

/** JSON-RPC 2.0 with one object on each line, over a program's input and output. */
export function openJsonRpc(
  program: Pick<AgentProgram, "lines" | "write">,
  { onRequest, onNotification }: Incoming,
): JsonRpc {
  const waiting = new Map<number, PromiseWithResolvers<JsonObject>>();
  let lastId = 0;
  let unread = 0;
  let lastAnswer = Promise.resolve();
  let end: { readonly reason: unknown } | null = null;

  function send(message: JsonObject): Promise<void> {
    // A failed write needs no handling: the agent is ending, and the end of its output rejects all requests.
    return program.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).catch(() => {});
  }

  function receive(message: JsonObject): void {
    const method = textOf(message, "method");
    const params = fieldsOf(message["params"]);
    // An id of 0 is an id like any other.
    if (method !== null && message["id"] !== undefined) answer(message, method, params);
    else if (method !== null) onNotification(method, params);
    else settle(message);
  }

  function answer(message: JsonObject, method: string, params: JsonObject): void {
    const id = message["id"];
    // The answer repeats the ID, so the ID must be as small as the protocol intends.
    if (id !== null && numberOf(message, "id") === null && idOf(message, "id") === null)
      throw new RpcViolation("it asks under an id that is neither a number nor a short text");
    const result = onRequest(method, params);
    const shown = cleanText(method.slice(0, shownMethod));
    unread += 1;
    lastAnswer =
      result === undefined
        ? send({ id, error: { code: methodNotFound, message: `Method not found: ${shown}` } })
        : send({ id, result });
  }

  /** Resolves when all answers are written; rejects when that takes too long. */
  async function untilRead(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new RpcViolation("it asks and does not read the answers")),
      patienceMs,
    );
    await Promise.race([lastAnswer, late.promise]).finally(() => clearTimeout(timer));
    unread = 0;
  }

  function settle(message: JsonObject): void {
    const id = numberOf(message, "id");
    const waiter = id === null ? undefined : waiting.get(id);
    if (id === null || !waiter) return;
    waiting.delete(id);
    if (message["error"] === undefined) {
      waiter.resolve(fieldsOf(message["result"]));
      return;
    }
    const error = fieldsOf(message["error"]);
    const words = textOf(error, "message") ?? "an error";
    waiter.reject(new RpcError(numberOf(error, "code") ?? 0, words, error["data"]));
  }

  async function receiveAll(): Promise<void> {
    let reason: unknown = new RpcClosed();
    try {
      for await (const line of program.lines) {
        const message = parseLine(line);
        if (message) receive(message);
        if (unread >= maxUnread) await untilRead();
      }
    } catch (error) {
      // Every pending request rejects with this reason; so does each later one.
      reason = error;
    }
    end = { reason };
    for (const { reject } of waiting.values()) reject(reason);
  }

  void receiveAll();
  return {
    notify: (method, params) => void send({ method, params }),
    request(method, params) {
      if (end) return Promise.reject(end.reason);
      lastId += 1;
      const waiter = Promise.withResolvers<JsonObject>();
      waiting.set(lastId, waiter);
      void send({ id: lastId, method, params });
      return waiter.promise;
    },
  };
}
