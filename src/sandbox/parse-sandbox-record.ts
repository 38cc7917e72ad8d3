import type { SandboxRecord } from "../contract/sandbox-run.ts";
import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";

/** Parses and validates the record of one sandbox. */
export async function parseSandboxRecord(bytes: Uint8Array, file: string): Promise<SandboxRecord> {
  const { value, locationOf } = parseJson(bytes, file);
  const [first] = await findSchemaViolations("sandbox-run", value);
  if (first)
    throw new SwarmError("FILE_UNREADABLE", { place: locationOf(first.pointer), reason: first.problem });
  return value as SandboxRecord;
}
