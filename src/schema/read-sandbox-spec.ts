import { SwarmError } from "../domain/errors.ts";
import type { SourceLocation } from "../domain/place.ts";
import {
  findSandboxSpecProblems,
  type SandboxSpec,
  type SandboxSpecFile,
  toSandboxSpec,
} from "../domain/sandbox-spec.ts";
import { findSchemaViolations } from "./find-violations.ts";
import { type LocatedYaml, parseYaml } from "./parse-yaml.ts";

/**
 * Parses a `sandbox.yaml` and fills in defaults. Throws the problem that is closest to the top of the file.
 */
export async function parseSandboxSpec(bytes: Uint8Array, file: string): Promise<SandboxSpec> {
  const yaml = parseYaml(bytes, file);
  const violations = await findSchemaViolations("sandbox", yaml.value);
  const problems =
    violations.length > 0 ? violations : findSandboxSpecProblems(yaml.value as SandboxSpecFile);
  const [first] = problems
    .map(({ pointer, problem, hint }) => ({ place: yaml.locationOf(pointer), problem, hint }))
    .sort((one, other) => compare(one.place, other.place));
  if (first) throw new SwarmError("SANDBOX_SPEC_INVALID", first);
  return toSandboxSpec(withEnvAsWritten(yaml.value as SandboxSpecFile, yaml));
}

/** Compares problems by position, so that users correct a file from top to bottom. */
function compare(one: SourceLocation, other: SourceLocation): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0);
}

/**
 * Takes the values of environment variables from the source text, because a parsed `1.10` would be 1.1, and a
 * parsed `0755` would be 755.
 */
function withEnvAsWritten(file: SandboxSpecFile, { textOf }: LocatedYaml): SandboxSpecFile {
  if (!file.env) return file;
  const env = Object.fromEntries(
    Object.entries(file.env).map(([name, value]) => [name, textOf(`/env/${name}`) ?? value]),
  );
  return { ...file, env };
}
