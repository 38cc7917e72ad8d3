import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from "node:zlib";

export type DecompressedRequestBody =
  | { readonly kind: "decoded"; readonly bytes: Uint8Array }
  /** The decompressed body is larger than the maximum that any API accepts. */
  | { readonly kind: "too-large" }
  | { readonly kind: "unreadable" };

/**
 * The maximum size of a decompressed request body, in bytes. It is higher than the limit of every supported
 * API.
 */
export const maxDecompressedBodyBytes: number = 64 << 20;

/**
 * Decompresses a request's body according to its `content-encoding`. Stops when the result exceeds
 * `maxDecompressedBodyBytes`.
 */
export function decompressRequestBody(
  body: Uint8Array,
  encoding: string | undefined,
): DecompressedRequestBody {
  const encodings = encodingsIn(encoding).toReversed();
  if (encodings.length > 2) return { kind: "unreadable" };
  let bytes = body;
  for (const name of encodings) {
    const decode = decoders.get(name);
    if (decode === undefined) return { kind: "unreadable" };
    try {
      bytes = decode(bytes);
    } catch (error) {
      const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
      return { kind: isTooLarge ? "too-large" : "unreadable" };
    }
  }
  return bytes.length > maxDecompressedBodyBytes ? { kind: "too-large" } : { kind: "decoded", bytes };
}

/** Returns the encodings that a header names, in lower case and without `identity`. */
export function encodingsIn(header: string | undefined): string[] {
  return (header ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
}

type Decode = (bytes: Uint8Array) => Uint8Array;

/**
 * The type of Node's decompression functions with the option `info`, with which they also return the zlib
 * engine. Node's own types do not declare this option.
 */
type ZlibDecode = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number; readonly info: true },
) => unknown;

const decoders: ReadonlyMap<string, Decode> = new Map([
  ["gzip", wholly(gunzipSync)],
  ["x-gzip", wholly(gunzipSync)],
  ["deflate", deflated],
  ["br", wholly(brotliDecompressSync)],
  ["zstd", wholly(zstdDecompressSync)],
]);

/**
 * Wraps one of Node's decompression functions so that it throws if bytes follow the first compressed frame.
 * Node would ignore these bytes, but the API's server may read them.
 */
function wholly(decode: unknown): Decode {
  return (bytes) => {
    const decoded = (decode as ZlibDecode)(bytes, { maxOutputLength: maxDecompressedBodyBytes, info: true });
    const { buffer, engine } = decoded as {
      readonly buffer: Uint8Array;
      readonly engine: { bytesWritten: number };
    };
    if (engine.bytesWritten !== bytes.length)
      throw new Error("The body contains bytes after the first compressed frame");
    return buffer;
  };
}

/** Decompresses `deflate` data with or without the zlib header, because some clients omit this header. */
function deflated(bytes: Uint8Array): Uint8Array {
  const isWithHead = ((bytes[0] ?? 0) & 0x0f) === 8 && (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % 31 === 0;
  return wholly(isWithHead ? inflateSync : inflateRawSync)(bytes);
}
