import type { Duplex } from "node:stream";
import { readClientHello } from "./client-hello.ts";

/** A complete TLS ClientHello. */
export interface ReceivedClientHello {
  readonly serverName: string | null;
  /** All bytes read so far, which may include bytes after the ClientHello. */
  readonly bytes: Buffer;
}

/**
 * Reads from a client until its TLS ClientHello is complete, invalid or late, or until the client
 * disconnects. Then pauses the client's stream. Returns null unless the ClientHello is complete.
 */
export function awaitClientHello(
  client: Duplex,
  head: Buffer,
  withinMs: number,
): Promise<ReceivedClientHello | null> {
  const { promise, resolve } = Promise.withResolvers<ReceivedClientHello | null>();
  let bytes: Buffer = head;
  // The number of bytes at which to parse next. A client that sends single bytes must not cause a parse for each byte.
  let enough = 0;
  const settle = (hello: ReceivedClientHello | null): void => {
    clearTimeout(timer);
    client.pause();
    client.off("data", take).off("end", leave).off("close", leave);
    resolve(hello);
  };
  const judge = (): void => {
    if (bytes.length < enough) return;
    const hello = readClientHello(bytes);
    if (hello.kind === "hello") settle({ serverName: hello.serverName, bytes });
    else if (hello.kind === "not-tls") leave();
    else enough = bytes.length + hello.missing;
  };
  const take = (piece: Buffer): void => {
    bytes = Buffer.concat([bytes, piece]);
    judge();
  };
  const leave = (): void => settle(null);
  const timer = setTimeout(leave, withinMs);

  client.on("data", take).on("end", leave).on("close", leave);
  if (client.destroyed) leave();
  else judge();
  return promise;
}
