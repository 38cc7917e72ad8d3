import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { AgentProgram } from "./agent.ts";
import {
  type JsonObject,
  parseJsonLine,
  readIdField,
  readNumberField,
  readStringField,
  toJsonObject,
} from "./read-json-fields.ts";

/** Thrown when the agent does not answer a JSON-RPC request with a result. */
export class RpcFailure extends Error {}

/** Thrown when the agent answers a JSON-RPC request with an error. */
export class RpcError extends RpcFailure {
  override readonly name = "RpcError";
  readonly code: number;
  readonly details: unknown;

  constructor(code: number, message: string, details: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Thrown when the agent's program ends before it has answered a JSON-RPC request. */
export class RpcClosedError extends RpcFailure {
  override readonly name = "RpcClosed";
}

/** Thrown when the agent violates JSON-RPC. The adapter then reads no more of the agent's output. */
export class RpcProtocolError extends RpcFailure {
  override readonly name = "RpcViolation";
}

export interface RpcHandlers {
  /**
   * Handles a JSON-RPC request from the agent. Returns the result to send back, or undefined if the method is
   * unknown.
   */
  onRequest(method: string, params: JsonObject): unknown;
  onNotification(method: string, params: JsonObject): void;
}

export interface JsonRpc {
  /**
   * Sends a JSON-RPC request and resolves with the agent's result. Rejects with an `RpcFailure`.
   */
  request(method: string, params: JsonObject): Promise<JsonObject>;
  notify(method: string, params: JsonObject): void;
}

const methodNotFound = -32601;
/**
 * The maximum number of the adapter's answers that the agent has not read. When it is reached, the adapter
 * reads no more of the agent's output until all answers are read, and fails the connection after
 * `patienceMs`.
 */
const maxUnread = 1_000;
const patienceMs = 10_000;
const shownMethod = 100;

/** Opens a JSON-RPC 2.0 connection over a program's stdin and stdout, with one JSON object per line. */
export function openJsonRpc(
  program: Pick<AgentProgram, "lines" | "write">,
  { onRequest, onNotification }: RpcHandlers,
): JsonRpc {
  const waiting = new Map<number, PromiseWithResolvers<JsonObject>>();
  let lastId = 0;
  let unread = 0;
  let lastAnswer = Promise.resolve();
  let end: { readonly reason: unknown } | null = null;

  function send(message: JsonObject): Promise<void> {
    // Ignores a failed write: the agent is ending, and the end of its output rejects all pending requests.
    return program.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).catch(() => {});
  }

  function receive(message: JsonObject): void {
    const method = readStringField(message, "method");
    const params = toJsonObject(message["params"]);
    // Compares with undefined, since 0 is a valid ID.
    if (method !== null && message["id"] !== undefined) answer(message, method, params);
    else if (method !== null) onNotification(method, params);
    else settle(message);
  }

  function answer(message: JsonObject, method: string, params: JsonObject): void {
    const id = message["id"];
    // The answer repeats the request's ID, so the adapter limits the ID to a number or a short text.
    if (id !== null && readNumberField(message, "id") === null && readIdField(message, "id") === null)
      throw new RpcProtocolError(
        "the id of the agent's JSON-RPC request is neither a number nor a short string",
      );
    const result = onRequest(method, params);
    const shown = sanitizeText(method.slice(0, shownMethod));
    unread += 1;
    lastAnswer =
      result === undefined
        ? send({ id, error: { code: methodNotFound, message: `Method not found: ${shown}` } })
        : send({ id, result });
  }

  /**
   * Resolves when all of the adapter's answers are written to the agent's stdin. Rejects if that takes longer
   * than `patienceMs`.
   */
  async function untilRead(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new RpcProtocolError("the agent sends requests but does not read the answers")),
      patienceMs,
    );
    await Promise.race([lastAnswer, late.promise]).finally(() => clearTimeout(timer));
    unread = 0;
  }

  function settle(message: JsonObject): void {
    const id = readNumberField(message, "id");
    const waiter = id === null ? undefined : waiting.get(id);
    if (id === null || !waiter) return;
    waiting.delete(id);
    if (message["error"] === undefined) {
      waiter.resolve(toJsonObject(message["result"]));
      return;
    }
    const error = toJsonObject(message["error"]);
    const words = readStringField(error, "message") ?? "the agent's JSON-RPC error has no message";
    waiter.reject(new RpcError(readNumberField(error, "code") ?? 0, words, error["data"]));
  }

  async function receiveAll(): Promise<void> {
    let reason: unknown = new RpcClosedError("the agent ended before it answered a request");
    try {
      for await (const line of program.lines) {
        const message = parseJsonLine(line);
        if (message) receive(message);
        if (unread >= maxUnread) await untilRead();
      }
    } catch (error) {
      // Every pending and every later request rejects with this reason.
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
