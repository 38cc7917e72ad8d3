import type { Duplex } from "node:stream";

/**
 * Sends a client a last HTTP status and closes the connection. Closes it even if the client neither reads nor
 * disconnects.
 */
export function closeConnectionWithStatus(
  client: Duplex,
  patienceMs: number,
  status: string,
  headers: readonly string[] = [],
  body = "",
): void {
  if (client.writableEnded) return;
  if (!client.writable) return void client.destroy();
  // Destroys the connection after `patienceMs`: `end` closes only the gateway's half, and a silent client would hold it
  // open for ever.
  const patience = setTimeout(() => client.destroy(), patienceMs);
  client.once("close", () => clearTimeout(patience));
  // Reads the rest of the input: closing with unread bytes would reset the connection, and the client would lose the
  // answer.
  client.resume();
  client.end([`HTTP/1.1 ${status}`, ...headers, "connection: close", "", body].join("\r\n"));
}
