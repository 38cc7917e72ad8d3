import type { ServerResponse } from "node:http";

/**
 * Returns a signal that aborts when the client disconnects before its answer is complete, or when the host
 * withdraws the worker's permission to use the gateway.
 */
export function abandonedSignal(response: ServerResponse, revoked: AbortSignal): AbortSignal {
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort(new Error("The client disconnected"));
  });
  return AbortSignal.any([left.signal, revoked]);
}
