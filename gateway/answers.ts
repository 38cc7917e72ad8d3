import type { ServerResponse } from "node:http";

export interface Answer {
  readonly status: number;
  /** What kind of error it is, in the words of Anthropic's API; the other ones look at the status. */
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
    // What is left of a request that was not read is not worth reading.
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}

/** Wherever a key is refused: any other answer would make agents try for minutes. */
export const notLetIn = (message: string): Answer => ({ status: 403, type: "permission_error", message });

/** There is no memory for a request, for now. */
export const noRoom: Answer = {
  ...{ status: 429, type: "rate_limit_error", message: "too much at once", retryAfterSeconds: 1 },
};

/** Something that will be there in a moment. */
export const notReady = (message: string): Answer => ({
  ...{ status: 503, type: "overloaded_error", message, retryAfterSeconds: 5 },
});
