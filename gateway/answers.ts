import type { ServerResponse } from "node:http";

export interface Answer {
  readonly status: number;
  /** The kind of error in the vocabulary of Anthropic's API; clients of other APIs go by the status. */
  readonly type: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** An error in a form that every agent understands. */
export function answerError(
  response: ServerResponse,
  { status, type, message, retryAfterSeconds }: Answer,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = `swarm gateway: ${message}`;
  // Anthropic's and OpenAI's agents read `error.message`, Google's `error.code` and `error.status` beside it.
  const body = JSON.stringify({ type: "error", error: { type, message: text, code: status, status: type } });
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    // Closing the connection spares the gateway from reading the rest of the request.
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}

/** The answer to a refused key: with any other status agents retry for minutes. */
export const forbidden = (message: string): Answer => ({ status: 403, type: "permission_error", message });

/** The answer while the buffer budget has no memory left for a request. */
export const bufferFull: Answer = {
  ...{
    status: 429,
    type: "rate_limit_error",
    message: "no memory for this request now",
    retryAfterSeconds: 1,
  },
};

/** The answer for something temporarily unavailable. */
export const unavailable = (message: string): Answer => ({
  ...{ status: 503, type: "overloaded_error", message, retryAfterSeconds: 5 },
});
