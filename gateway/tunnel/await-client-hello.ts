import type { Duplex } from "node:stream";
import { readClientHello } from "./client-hello.ts";

export type ClientHelloResult =
  | { readonly kind: "none" }
  /**
   * The TLS ClientHello is complete. `bytes` holds all bytes read so far, which may include bytes after the
   * ClientHello.
   */
  | { readonly kind: "hello"; readonly serverName: string | null; readonly bytes: Buffer };

/**
 * Reads from a client until its TLS ClientHello is complete, invalid or late, or until the client
 * disconnects. Then pauses the client's stream.
 */
export function awaitClientHello(client: Duplex, head: Buffer, withinMs: number): Promise<ClientHelloResult> {
  const { promise, resolve } = Promise.withResolvers<ClientHelloResult>();
  let bytes: Buffer = head;
  // The number of bytes at which to parse next. A client that sends single bytes must not cause a parse for each byte.
  let enough = 0;
  const settle = (hello: ClientHelloResult): void => {
    clearTimeout(timer);
    client.pause();
    client.off("data", take).off("end", leave).off("close", leave);
    resolve(hello);
  };
  const judge = (): void => {
    if (bytes.length < enough) return;
    const hello = readClientHello(bytes);
    if (hello.kind === "hello") settle({ ...hello, bytes });
    else if (hello.kind === "not-tls") leave();
    else enough = bytes.length + hello.missing;
  };
  const take = (piece: Buffer): void => {
    bytes = Buffer.concat([bytes, piece]);
    judge();
  };
  const leave = (): void => settle({ kind: "none" });
  const timer = setTimeout(leave, withinMs);

  client.on("data", take).on("end", leave).on("close", leave);
  if (client.destroyed) leave();
  else judge();
  return promise;
}
