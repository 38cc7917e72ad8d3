import type { Duplex } from "node:stream";
import { readClientHello } from "./client-hello.ts";

export type AwaitedHello =
  | { readonly kind: "none" }
  /** All that was read so far: the hello, and perhaps more. */
  | { readonly kind: "hello"; readonly serverName: string | null; readonly bytes: Buffer };

/** Reads until a client has said whom it wants, or cannot any more. It stands still afterwards. */
export function awaitHello(client: Duplex, head: Buffer, withinMs: number): Promise<AwaitedHello> {
  const { promise, resolve } = Promise.withResolvers<AwaitedHello>();
  let bytes: Buffer = head;
  // Nothing is read before it can be whole: whoever sends it byte by byte in the smallest of records makes no work of that.
  let enough = 0;
  const settle = (hello: AwaitedHello): void => {
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
