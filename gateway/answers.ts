import type { ServerResponse } from "node:http";

export interface ErrorAnswer {
  readonly status: number;
  /** The kind of error, in the vocabulary of Anthropic's API; clients of other APIs read only the status. */
  readonly type: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** Answers a request with an error, in a form that every supported agent understands. */
export function sendErrorAnswer(
  response: ServerResponse,
  { status, type, message, retryAfterSeconds }: ErrorAnswer,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = `swarm gateway: ${message}`;
  // Anthropic's and OpenAI's agents read `error.message`; Google's agents also read `error.code` and `error.status`.
  const body = JSON.stringify({ type: "error", error: { type, message: text, code: status, status: type } });
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    // Closes the connection, so that the gateway need not read the rest of the request.
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}

/**
 * Returns a 403 answer with this message. Agents stop after a 403; after other errors, they retry for
 * minutes.
 */
export const forbiddenAnswer = (message: string): ErrorAnswer => ({
  status: 403,
  type: "permission_error",
  message,
});

/** The answer if the buffer budget has no memory left for the request's body. */
export const bufferFullAnswer: ErrorAnswer = {
  ...{
    status: 429,
    type: "rate_limit_error",
    message: "the gateway has no free memory for this request at the moment",
    retryAfterSeconds: 1,
  },
};

/** Returns the answer for a temporary failure, after which the agent may retry. */
export const unavailableAnswer = (message: string): ErrorAnswer => ({
  ...{ status: 503, type: "overloaded_error", message, retryAfterSeconds: 5 },
});
