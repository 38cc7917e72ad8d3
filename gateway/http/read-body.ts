import type { IncomingMessage } from "node:http";
import type { BufferLease } from "./buffer-budget.ts";

/** The maximum size of a request's body, in bytes: more than any API accepts. */
const maxBytes = 64 << 20;
/**
 * The overhead in bytes that the buffer budget counts for each received piece of a body. Without it, a client
 * that sends single bytes could fill the gateway's memory.
 */
const pieceBytes = 512;

export type RequestBody =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  /** The body is larger than `maxBytes`. */
  | { readonly kind: "too-long" }
  /** The gateway's buffer budget has no memory left for the body. */
  | { readonly kind: "over-budget" }
  /** The client disconnected before the end of the body. */
  | { readonly kind: "torn" };

/** Reads a request's whole body into memory, and counts the body against the gateway's buffer budget. */
export async function readRequestBody(request: IncomingMessage, lease: BufferLease): Promise<RequestBody> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > maxBytes) return { kind: "too-long" };
      if (!lease.take(piece.length + pieceBytes)) return { kind: "over-budget" };
      pieces.push(piece);
    }
  } catch {
    return { kind: "torn" };
  }
  return request.complete ? { kind: "whole", bytes: Buffer.concat(pieces, length) } : { kind: "torn" };
}
