import type { ServerResponse } from "node:http";

export interface ErrorAnswer {
  readonly status: number;
  /** The kind of error, as Anthropic's API names it. Clients of other APIs read only the HTTP status. */
  readonly type: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** Answers a request with an error, in a JSON form that all supported agents understand. */
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
 * Returns an answer with HTTP status 403 and the given message. Agents stop after a 403, but retry for
 * minutes after other errors.
 */
export const forbiddenAnswer = (message: string): ErrorAnswer => ({
  status: 403,
  type: "permission_error",
  message,
});

/** The answer to a request if no memory is left to buffer the request's body. */
export const bufferFullAnswer: ErrorAnswer = {
  ...{
    status: 429,
    type: "rate_limit_error",
    message: "the gateway has no free memory for this request at the moment",
    retryAfterSeconds: 1,
  },
};

/** Returns the answer for a temporary failure. The agent may retry the request later. */
export const unavailableAnswer = (message: string): ErrorAnswer => ({
  ...{ status: 503, type: "overloaded_error", message, retryAfterSeconds: 5 },
});
