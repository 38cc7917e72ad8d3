import type { Probe } from "../contract/probe.ts";
import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";

/** Parses and validates the JSON that swarm's probe program printed in a container. */
export async function parseProbe(text: string): Promise<Probe> {
  const { value } = parseJson(Buffer.from(text), "the probe's answer");
  const [first] = await findSchemaViolations("probe", value);
  if (first)
    throw new SwarmError("ENGINE_FAILED", {
      operation: "measure a runtime",
      reason: `the probe returned an invalid result: ${first.problem}`,
    });
  return value as Probe;
}
