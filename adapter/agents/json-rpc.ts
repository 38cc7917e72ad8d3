import { cleanText } from "../../src/domain/clean-text.ts";
import type { AgentProgram } from "./agent.ts";
import { fieldsOf, idOf, numberOf, parseLine, type Said, textOf } from "./fields.ts";

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

/** The other side does what no agent does: nothing more is read of it. */
export class RpcViolation extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RpcViolation";
  }
}

export interface Incoming {
  /** Gives the answer's result; undefined for a method that is not known here. */
  onRequest(method: string, params: Said): unknown;
  onNotification(method: string, params: Said): void;
}

export interface JsonRpc {
  /** Rejects with an `RpcError`, `RpcClosed` or `RpcViolation`. */
  request(method: string, params: Said): Promise<Said>;
  notify(method: string, params: Said): void;
}

const methodNotFound = -32601;
/** So many answers may wait for an agent that is slow to read; then it is not listened to either, for so long. */
const mostUnread = 1_000;
const patienceMs = 10_000;
const shownMethod = 100;

/** JSON-RPC 2.0 with one object on each line, over a program's input and output. */
export function openJsonRpc(
  program: Pick<AgentProgram, "lines" | "write">,
  { onRequest, onNotification }: Incoming,
): JsonRpc {
  const waiting = new Map<number, PromiseWithResolvers<Said>>();
  let lastId = 0;
  let unread = 0;
  let lastAnswer = Promise.resolve();
  let end: { readonly reason: unknown } | null = null;

  function send(message: Said): Promise<void> {
    // What it does not read any more it will not answer either, and its end is seen in its output.
    return program.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).catch(() => {});
  }

  function receive(message: Said): void {
    const method = textOf(message, "method");
    const params = fieldsOf(message["params"]);
    // An id of 0 is an id like any other.
    if (method !== null && message["id"] !== undefined) answer(message, method, params);
    else if (method !== null) onNotification(method, params);
    else settle(message);
  }

  function answer(message: Said, method: string, params: Said): void {
    const id = message["id"];
    // It is repeated in the answer, so it has to be as small as the protocol means it to be.
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

  /** Resolves when all answers are out of here. */
  async function untilRead(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new RpcViolation("it asks and does not read the answers")),
      patienceMs,
    );
    await Promise.race([lastAnswer, late.promise]).finally(() => clearTimeout(timer));
    unread = 0;
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
        if (unread >= mostUnread) await untilRead();
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
    notify: (method, params) => void send({ method, params }),
    request(method, params) {
      if (end) return Promise.reject(end.reason);
      lastId += 1;
      const waiter = Promise.withResolvers<Said>();
      waiting.set(lastId, waiter);
      void send({ id: lastId, method, params });
      return waiter.promise;
    },
  };
}
