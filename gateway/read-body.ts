import type { IncomingMessage } from "node:http";
import type { OpenRoom } from "./body-room.ts";

/** More than any API takes. */
const mostBytes = 64 << 20;
/** What a piece takes beside its bytes: whoever sends them one by one fills the memory with that. */
const pieceBytes = 512;

export type RequestBody =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  /** Longer than any API would take. */
  | { readonly kind: "too-long" }
  /** There is no memory for it, for now. */
  | { readonly kind: "no-room" }
  /** Who sent it left in the midst of it. */
  | { readonly kind: "torn" };

/** The whole body of a request. */
export async function readBody(request: IncomingMessage, room: OpenRoom): Promise<RequestBody> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > mostBytes) return { kind: "too-long" };
      if (!room.take(piece.length + pieceBytes)) return { kind: "no-room" };
      pieces.push(piece);
    }
  } catch {
    return { kind: "torn" };
  }
  return request.complete ? { kind: "whole", bytes: Buffer.concat(pieces, length) } : { kind: "torn" };
}
