import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/**
 * The kind of error for each HTTP status, as Anthropic's API names it. Clients of other APIs read only the
 * HTTP status. Agents stop after a 403, but retry for minutes after other errors.
 */
const typeByStatus = {
  400: "invalid_request_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
  503: "overloaded_error",
  505: "invalid_request_error",
} as const;

export type ErrorStatus = keyof typeof typeByStatus;

/** After how many seconds a client may repeat its request, for the statuses of temporary failures. */
const retryAfterByStatus: Partial<Readonly<Record<ErrorStatus, number>>> = { 429: 1, 503: 5 };

/** Answers a request with an error, in a JSON form that all supported agents understand. */
export function sendErrorAnswer(
  response: ServerResponse,
  status: ErrorStatus,
  message: string,
  retryAfterSeconds: number | undefined = retryAfterByStatus[status],
): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const type = typeByStatus[status];
  const text = `swarm gateway: ${message}`;
  // Anthropic's and OpenAI's agents read `error.message`; Google's agents also read `error.code` and `error.status`.
  const body = JSON.stringify({ type: "error", error: { type, message: text, code: status, status: type } });
  sendWholeAnswer(response, status, body, {
    "content-type": "application/json",
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  });
}

/** Answers a request that the gateway does not forward. */
export function sendWholeAnswer(
  response: ServerResponse,
  status: number,
  body: string,
  headers: OutgoingHttpHeaders,
): void {
  response.writeHead(status, {
    ...headers,
    "content-length": Buffer.byteLength(body),
    // Closes the connection, so that the gateway need not read the rest of the request.
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}
