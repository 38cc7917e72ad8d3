import type { IncomingMessage, ServerResponse } from "node:http";
import type { BufferLease } from "./buffer-budget.ts";
import { type ErrorStatus, sendErrorAnswer } from "./error-answers.ts";

/** The maximum size of a request's body, in bytes: more than any API accepts. */
const maxBytes = 64 << 20;
/**
 * The overhead in bytes that the buffer budget counts for each received piece of a body. Without it, a client
 * that sends single bytes could fill the gateway's memory.
 */
const pieceBytes = 512;

/** The error message for a request if no memory is left to buffer the request's body. */
export const bufferFullMessage = "the gateway has no free memory for this request at the moment";

/**
 * Receives the whole body of a client's request, and counts the body against the gateway's buffer budget.
 * Returns null if the gateway has already refused the request with an error, or the client has disconnected
 * before the end of the body.
 */
export async function receiveModelCallBody(
  request: IncomingMessage,
  response: ServerResponse,
  lease: BufferLease,
): Promise<Buffer | null> {
  const refuse = (status: ErrorStatus, message: string): null => {
    sendErrorAnswer(response, status, message);
    return null;
  };
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > maxBytes) return refuse(413, "the request's body is too long");
      if (!lease.take(piece.length + pieceBytes)) return refuse(429, bufferFullMessage);
      pieces.push(piece);
    }
  } catch {
    return null;
  }
  if (!request.complete) return null;
  // Refuses the body of any other method: a server that expects no body would take it for the next request on the
  // connection.
  if (request.method !== "POST" && length > 0)
    return refuse(400, `a ${request.method} request must not have a body`);
  return Buffer.concat(pieces, length);
}
