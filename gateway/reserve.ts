import type { TokenCounts } from "../src/domain/spending.ts";
import { type AskedFor, askedFor, askedPaths, longestAnswer } from "./asked-for.ts";
import { decodeBody, longestBody } from "./decode-body.ts";
import { JsonPicker } from "./json-picker.ts";
import { type Picked, type PickedRecord, pickedValues } from "./picked-values.ts";
import { memberOf, noTokens } from "./read-usage.ts";
import { type ApiName, isCompletions, isFree, modelInPath } from "./request-paths.ts";

/** The most that a call can take. */
export interface Reserve {
  readonly model: string | null;
  readonly counts: TokenCounts;
}

/** A whole context window: a call about what is stored at the API may be about so much. */
const longestPrompt = 1_048_576;
/** What tools that run at the API can bring into one call. */
const mostFetched = 128_000;
/** What a picture is at the most, however few bytes it has. */
const mostOfPicture = 5_000;
/** How far a body may be packed that we cannot read. */
const packed = 20;

/**
 * What this call takes at the most. A token is at least a byte, and mostly four: what it costs more to write the prompt
 * to a cache is within that.
 */
export function reserveFor(
  api: ApiName,
  path: string,
  body: Uint8Array,
  encoding: string | undefined,
): Reserve {
  if (body.length === 0 || isFree(api, path)) return { model: modelInPath(path), counts: noTokens };
  const decoded = decodeBody(body, encoding);
  if (decoded.kind !== "decoded") {
    // How much is in a body that grows without end, nobody finds out; no API reads more than this.
    const inputTokens = decoded.kind === "too-large" ? longestBody : body.length * packed;
    return reserveOf(modelInPath(path), inputTokens, unknownRequest(api));
  }
  const record = readRequest(api, decoded.bytes);
  const read = record === null ? unknownRequest(api) : askedFor(api, path, record);
  // Whoever hides something behind more than is looked at may hide anything.
  const asked = record?.isCut ? { ...unknownRequest(api), ...worstRequest, model: read.model } : read;
  return reserveOf(modelInPath(path) ?? asked.model, decoded.bytes.length, asked);
}

function reserveOf(model: string | null, bytes: number, asked: AskedFor): Reserve {
  const stored = asked.readsStored ? longestPrompt : asked.pictures * mostOfPicture;
  const fetched = asked.hasTools ? mostFetched : 0;
  const times = asked.mayCompact ? 2 : 1;
  const inputTokens = (bytes + stored + fetched) * times;
  const outputTokens = asked.outputTokens * times;
  const { priceFactor } = asked;
  return { model, counts: { ...noTokens, inputTokens, outputTokens, priceFactor } };
}

function unknownRequest(api: ApiName): AskedFor {
  return {
    ...{ model: null, outputTokens: longestAnswer[api], priceFactor: 1 },
    ...{ readsStored: false, pictures: 0, hasTools: false, mayCompact: false },
  };
}

const worstRequest = { readsStored: true, hasTools: true, mayCompact: true, priceFactor: 2 };

/** A body, and whether it is still the one that came. A changed one is not encoded. */
export interface AskedBody {
  readonly body: Uint8Array;
  readonly isChanged: boolean;
}

/** The body with the wish in it that the stream tells what it took; OpenAI's chats do not by themselves. */
export function withUsageAsked(
  api: ApiName,
  path: string,
  body: Uint8Array,
  encoding: string | undefined,
): AskedBody {
  const same = { body, isChanged: false };
  if (api !== "openai" || !isCompletions(path)) return same;
  const decoded = decodeBody(body, encoding);
  const record = decoded.kind === "decoded" ? readRequest(api, decoded.bytes) : null;
  if (decoded.kind !== "decoded" || record === null) return same;
  const isStream = pickedValues(record, "stream").includes(true);
  const options = record.values.get("stream_options") ?? [];
  const isAsked =
    options.length > 0 && options.every(({ value }) => memberOf(value, "include_usage") === true);
  if (!isStream || isAsked) return same;
  return { body: withOptions(decoded.bytes, record, options), isChanged: true };
}

/** Everything else stays byte for byte: numbers that no program of ours could hold, and keys that stand twice. */
function withOptions(bytes: Uint8Array, { start }: PickedRecord, options: readonly Picked[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  const put = (to: number, text: string): void => {
    parts.push(bytes.subarray(from, to), Buffer.from(text));
    from = to;
  };
  if (options.length === 0) put(start + 1, `"stream_options":{"include_usage":true},`);
  for (const option of options) {
    const isObscured = memberOf(option.value, "include_obfuscation");
    const kept = typeof isObscured === "boolean" ? { include_obfuscation: isObscured } : {};
    put(option.start, JSON.stringify({ include_usage: true, ...kept }));
    from = option.end;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

/** The one object that the body is; null when it is anything else. */
function readRequest(api: ApiName, bytes: Uint8Array): PickedRecord | null {
  const records: PickedRecord[] = [];
  const picker = new JsonPicker(askedPaths[api], (record) => {
    if (records.length < 2) records.push(record);
  });
  picker.add(bytes);
  const [record] = records;
  return picker.end() && records.length === 1 ? (record ?? null) : null;
}
