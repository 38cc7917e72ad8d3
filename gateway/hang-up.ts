import type { Duplex } from "node:stream";

/** Says a last word and closes, whether the other end listens, leaves, or does neither. */
export function hangUp(client: Duplex, status: string, headers: readonly string[], patienceMs: number): void {
  if (client.writableEnded) return;
  if (!client.writable) return void client.destroy();
  // Who stays without a word would keep a connection for ever: ending is only our half of it.
  const patience = setTimeout(() => client.destroy(), patienceMs);
  client.once("close", () => clearTimeout(patience));
  // Closing over what was not read would take the answer away.
  client.resume();
  client.end([`HTTP/1.1 ${status}`, ...headers, "connection: close", "", ""].join("\r\n"));
}
