import { type TokenCounts, zeroTokenCounts } from "../../src/usage/spending.ts";
import { decompressRequestBody, maxDecompressedBodyBytes } from "../http/decompress-body.ts";
import {
  findModelNameInPath,
  isCompletionsPath,
  isTokenCountingPath,
  type ModelApiName,
} from "../http/request-paths.ts";
import {
  type ExtractedJsonRecord,
  type ExtractedJsonValue,
  findExtractedValues,
} from "../usage/extracted-values.ts";
import { JsonValueExtractor } from "../usage/json-value-extractor.ts";
import { readOwnMember } from "../usage/read-usage.ts";
import {
  assumedMaxAnswerTokens,
  modelRequestJsonPaths,
  type ParsedModelRequest,
  parseModelRequest,
} from "./parse-model-request.ts";

/** A call to a model, as the gateway reserves its cost and sends it. */
export interface PreparedModelCall {
  readonly model: string | null;
  /** The maximum usage of the call. */
  readonly counts: TokenCounts;
  /** The request body that the gateway forwards to the API. If the gateway changed the body, it is uncompressed. */
  readonly body: Uint8Array;
  readonly isChanged: boolean;
}

/**
 * The maximum number of input tokens that a call can add by referring to content stored at the API: a whole
 * context window.
 */
const maxPromptTokens = 1_048_576;
/**
 * The maximum number of input tokens that tools run by the API, such as its web search, can add to one call.
 */
const maxToolTokens = 128_000;
/** The maximum number of input tokens for one picture, whatever its size in bytes. */
const maxPictureTokens = 5_000;
/** The compression ratio that the estimate assumes for a request body that the gateway cannot decompress. */
const assumedCompression = 20;

/**
 * Estimates the maximum usage of a call before it is sent, and asks for a usage report where the API sends
 * none by itself. Counts each byte of the request as a token, which also covers the surcharge for writing the
 * prompt to a cache, because most tokens have about four bytes.
 */
export function prepareModelCall(
  api: ModelApiName | null,
  path: string,
  body: Uint8Array,
  encoding: string | undefined,
): PreparedModelCall {
  const same = { body, isChanged: false };
  if (api === null) return { model: null, counts: zeroTokenCounts, ...same };
  const model = findModelNameInPath(path);
  if (body.length === 0 || isTokenCountingPath(api, path)) return { model, counts: zeroTokenCounts, ...same };
  const decoded = decompressRequestBody(body, encoding);
  if (decoded.kind !== "decoded") {
    // Assumes the maximum size for a decompression bomb, whose size stays unknown: no API reads more than that.
    const inputTokens =
      decoded.kind === "too-large" ? maxDecompressedBodyBytes : body.length * assumedCompression;
    return { model, counts: maxCountsOf(inputTokens, unknownRequest(api)), ...same };
  }
  const record = readRequest(api, decoded.bytes);
  const read = record === null ? unknownRequest(api) : parseModelRequest(api, path, record);
  // Assumes the maximum if values were missing beyond the memory limit, since these may be the expensive ones.
  const request = record?.isCut ? { ...unknownRequest(api), ...worstRequest, model: read.model } : read;
  const counts = maxCountsOf(decoded.bytes.length, request);
  const changed =
    record !== null && api === "openai" && isCompletionsPath(path)
      ? withIncludeUsage(decoded.bytes, record)
      : null;
  const forwarded = changed === null ? same : { body: changed, isChanged: true };
  return { model: model ?? request.model, counts, ...forwarded };
}

function maxCountsOf(bytes: number, request: ParsedModelRequest): TokenCounts {
  const stored = request.readsStored ? maxPromptTokens : request.pictures * maxPictureTokens;
  const fetched = request.hasTools ? maxToolTokens : 0;
  const times = request.mayCompact ? 2 : 1;
  return {
    ...zeroTokenCounts,
    inputTokens: (bytes + stored + fetched) * times,
    outputTokens: request.outputTokens * times,
    priceFactor: request.priceFactor,
  };
}

function unknownRequest(api: ModelApiName): ParsedModelRequest {
  return {
    model: null,
    outputTokens: assumedMaxAnswerTokens[api],
    priceFactor: 1,
    readsStored: false,
    pictures: 0,
    hasTools: false,
    mayCompact: false,
  };
}

const worstRequest = { readsStored: true, hasTools: true, mayCompact: true, priceFactor: 2 };

/**
 * Adds `include_usage` to a request for a streamed OpenAI completion. Without this option, the API reports no
 * usage. Returns null if the request needs no change.
 */
function withIncludeUsage(bytes: Uint8Array, record: ExtractedJsonRecord): Uint8Array | null {
  const options = record.values.get("stream_options") ?? [];
  const isAsked =
    options.length > 0 && options.every(({ value }) => readOwnMember(value, "include_usage") === true);
  if (!findExtractedValues(record, "stream").includes(true) || isAsked) return null;
  return withOptions(bytes, record, options);
}

/**
 * Sets `include_usage` directly in the bytes of the body. Parsing and serializing the body would change large
 * numbers and drop duplicate keys.
 */
function withOptions(
  bytes: Uint8Array,
  { start }: ExtractedJsonRecord,
  options: readonly ExtractedJsonValue[],
): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  const put = (to: number, text: string): void => {
    parts.push(bytes.subarray(from, to), Buffer.from(text));
    from = to;
  };
  if (options.length === 0) put(start + 1, `"stream_options":{"include_usage":true},`);
  for (const option of options) {
    const isObscured = readOwnMember(option.value, "include_obfuscation");
    const kept = typeof isObscured === "boolean" ? { include_obfuscation: isObscured } : {};
    put(option.start, JSON.stringify({ include_usage: true, ...kept }));
    from = option.end;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

/**
 * Reads the values at `modelRequestJsonPaths` from a request body. Returns null unless the body is one
 * complete JSON object.
 */
function readRequest(api: ModelApiName, bytes: Uint8Array): ExtractedJsonRecord | null {
  const records: ExtractedJsonRecord[] = [];
  const picker = new JsonValueExtractor(modelRequestJsonPaths[api], (record) => {
    if (records.length < 2) records.push(record);
  });
  picker.add(bytes);
  const [record] = records;
  return picker.end() && records.length === 1 ? (record ?? null) : null;
}
