import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { encodingsIn } from "./decompress-body.ts";

/**
 * Returns the decompressed body of an API's answer; null if the encoding is unknown or the body has several
 * encodings.
 */
export function decompressModelAnswer(answer: IncomingMessage): AsyncIterable<Buffer> | null {
  const isFramed = ["chunked", ""].includes(encodingsIn(answer.headers["transfer-encoding"]).join(","));
  const [encoding, ...more] = encodingsIn(answer.headers["content-encoding"]);
  if (!isFramed || more.length > 0) return null;
  if (encoding === undefined) return answer;
  const unpack = unpackers.get(encoding)?.();
  if (unpack === undefined) return null;
  answer.once("error", (error) => unpack.destroy(error));
  unpack.once("close", () => answer.destroy());
  return answer.pipe(unpack);
}

/**
 * The decompressor of each content encoding. The gateway asks APIs for uncompressed answers, but must
 * decompress any other answer to remove secrets and count tokens.
 */
const unpackers = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
  ["zstd", createZstdDecompress],
]);
