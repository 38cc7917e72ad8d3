import type { AgentProgram } from "./agent.ts";
import { fieldsOf, numberOf, parseLine, type Said, textOf } from "./fields.ts";

/** The other side's answer that it will not or cannot. */
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

/** The other side is gone, and with it the answer. */
export class RpcClosed extends Error {
  constructor() {
    super("it ended without an answer");
    this.name = "RpcClosed";
  }
}

export interface Incoming {
  /** Gives the answer's result; undefined for a method that is not known here. */
  onRequest(method: string, params: Said): unknown;
  onNotification(method: string, params: Said): void;
}

export interface JsonRpc {
  /** Rejects with an `RpcError` or `RpcClosed`. */
  request(method: string, params: Said): Promise<Said>;
  notify(method: string, params: Said): void;
}

const methodNotFound = -32601;

/** JSON-RPC 2.0 with one object on each line, over a program's input and output. */
export function openJsonRpc(
  program: Pick<AgentProgram, "lines" | "write">,
  { onRequest, onNotification }: Incoming,
): JsonRpc {
  const waiting = new Map<number, PromiseWithResolvers<Said>>();
  let lastId = 0;
  let end: { readonly reason: unknown } | null = null;

  function send(message: Said): void {
    // What it does not read any more it will not answer either, and its end is seen in its output.
    program.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).catch(() => {});
  }

  function receive(message: Said): void {
    const method = textOf(message, "method");
    const params = fieldsOf(message["params"]);
    // An id of 0 is an id like any other.
    if (method !== null && message["id"] !== undefined) answer(message["id"], method, params);
    else if (method !== null) onNotification(method, params);
    else settle(message);
  }

  function answer(id: unknown, method: string, params: Said): void {
    const result = onRequest(method, params);
    if (result === undefined)
      send({ id, error: { code: methodNotFound, message: `Method not found: ${method}` } });
    else send({ id, result });
  }

  function settle(message: Said): void {
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
      }
    } catch (error) {
      // Whoever waits for an answer is told; an end comes to nobody else.
      reason = error;
    }
    end = { reason };
    for (const { reject } of waiting.values()) reject(reason);
  }

  void receiveAll();
  return {
    notify: (method, params) => send({ method, params }),
    request(method, params) {
      if (end) return Promise.reject(end.reason);
      lastId += 1;
      const waiter = Promise.withResolvers<Said>();
      waiting.set(lastId, waiter);
      send({ id: lastId, method, params });
      return waiter.promise;
    },
  };
}
