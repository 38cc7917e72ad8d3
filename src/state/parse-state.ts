import type { SwarmState } from "../contract/swarm-state.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";

function parseStateJson(bytes: Uint8Array, file: string): ReturnType<typeof parseJson> {
  try {
    return parseJson(bytes, file);
  } catch (error) {
    throw isError(error, "JSON_INVALID") ? new SwarmError("STATE_INVALID", error.details, error) : error;
  }
}

/**
 * Parses the state file of a swarm. Throws if the file is invalid, because an invalid file must never be
 * treated as a swarm without workers.
 */
export async function parseState(bytes: Uint8Array, file: string): Promise<SwarmState> {
  const { value, locationOf } = parseStateJson(bytes, file);
  renameTokenCounts(value);
  const [first] = await findSchemaViolations("swarm-state", value);
  if (first)
    throw new SwarmError("STATE_INVALID", { place: locationOf(first.pointer), problem: first.problem });
  return value as SwarmState;
}

/** The names of the counts of tokens in states that earlier versions of swarm wrote. */
const nameByEarlierName = {
  tokensIn: "inputTokens",
  tokensOut: "outputTokens",
  cacheRead: "cacheReadTokens",
  cacheWrite: "cacheWriteTokens",
};

/** Gives the counts of tokens in the records of workers and stories their present names. */
function renameTokenCounts(state: unknown): void {
  for (const record of listIn(state, "containers"))
    for (const { usage } of [record, ...listIn(record, "stories")])
      for (const [earlier, name] of Object.entries(nameByEarlierName))
        if (isObject(usage) && earlier in usage) {
          usage[name] = usage[earlier];
          delete usage[earlier];
        }
}

function listIn(value: unknown, name: string): Record<string, unknown>[] {
  const list = isObject(value) ? value[name] : [];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * An error handler for callers that can continue without a state. Returns null for STATE_INVALID, and
 * rethrows any other error.
 */
export function nullIfStateInvalid(error: unknown): null {
  if (isError(error, "STATE_INVALID")) return null;
  throw error;
}
