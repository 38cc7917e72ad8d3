import type { Probe } from "../contract/probe.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";
import { engineFailed } from "./engine-failed.ts";

/** Parses and validates the JSON that swarm's probe program printed in a container. */
export async function parseProbe(text: string): Promise<Probe> {
  const { value } = parseJson(Buffer.from(text), "the probe's answer");
  const [first] = await findSchemaViolations("probe", value);
  if (first)
    throw engineFailed("measure a runtime", `the probe returned an invalid result: ${first.problem}`);
  return value as Probe;
}
