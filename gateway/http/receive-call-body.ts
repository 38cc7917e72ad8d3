import type { IncomingMessage, ServerResponse } from "node:http";
import type { BufferLease } from "./buffer-budget.ts";
import { bufferFullAnswer, sendErrorAnswer } from "./error-answers.ts";
import { readRequestBody } from "./read-body.ts";

/**
 * Receives the body of a client's request. Returns null if the gateway has already refused the request with
 * an error, or the client has disconnected.
 */
export async function receiveModelCallBody(
  request: IncomingMessage,
  response: ServerResponse,
  lease: BufferLease,
): Promise<Buffer | null> {
  const body = await readRequestBody(request, lease);
  switch (body.kind) {
    case "whole":
      if (request.method === "POST" || body.bytes.length === 0) return body.bytes;
      // Refuses the body of any other method: a server that expects no body would take it for the next request on the
      // connection.
      sendErrorAnswer(response, {
        ...{
          status: 400,
          type: "invalid_request_error",
          message: `a ${request.method} request must not have a body`,
        },
      });
      return null;
    case "too-long":
      sendErrorAnswer(response, {
        ...{ status: 413, type: "request_too_large", message: "the request's body is too long" },
      });
      return null;
    case "over-budget":
      sendErrorAnswer(response, bufferFullAnswer);
      return null;
    case "torn":
      return null;
  }
}
