import { connect } from "node:net";
import { parseJsonOrNull } from "../../text/parse-json-or-null.ts";

const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * Sends one GET request over HTTP/1.0 to an engine's local socket. Returns the parsed JSON, or null if no
 * complete answer with JSON arrives in time. Avoids Node's HTTP client, which loads too slowly for a quick
 * command.
 */
export function httpGetFromSocket(
  path: string,
  question: string,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const socket = connect(path);
  const chunks: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxAnswerBytes) socket.destroy();
  });
  socket.on("error", () => {});
  socket.on("close", (hadError: boolean) => {
    clearTimeout(timer);
    resolve(hadError || !socket.readableEnded ? null : answerIn(Buffer.concat(chunks)));
  });
  // Do not end the socket here: an engine could conclude from an early end that the client is gone.
  socket.write(`GET ${question} HTTP/1.0\r\nHost: engine\r\n\r\n`);
  return promise;
}

/**
 * Parses the JSON body of an HTTP response. Returns null unless the response is complete, has the status
 * 200, and has neither a transfer encoding nor a content encoding.
 */
function answerIn(bytes: Buffer): unknown {
  const end = bytes.indexOf("\r\n\r\n");
  const [status = "", ...headers] = bytes.toString("latin1", 0, Math.max(0, end)).toLowerCase().split("\r\n");
  const body = bytes.subarray(end + 4);
  const [, contentLength = body.length] =
    headers.find((header) => header.startsWith("content-length:"))?.split(":") ?? [];
  const isWhole = Number(contentLength) === body.length;
  const isPlain = !headers.some((header) => /^(?:transfer|content)-encoding:/.test(header));
  if (end < 0 || !/^http\/1\.[01] 200 /.test(`${status} `) || !isWhole || !isPlain) return null;
  return parseJsonOrNull(body.toString());
}
