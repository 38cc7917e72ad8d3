import type { Duplex } from "node:stream";

/** Sends a final status and closes, even when the client neither reads nor disconnects. */
export function hangUp(client: Duplex, status: string, headers: readonly string[], patienceMs: number): void {
  if (client.writableEnded) return;
  if (!client.writable) return void client.destroy();
  // `end` closes only our half; a silent client would keep the connection for ever.
  const patience = setTimeout(() => client.destroy(), patienceMs);
  client.once("close", () => clearTimeout(patience));
  // Closing with unread bytes would reset the connection, and the client would lose the answer.
  client.resume();
  client.end([`HTTP/1.1 ${status}`, ...headers, "connection: close", "", ""].join("\r\n"));
}
