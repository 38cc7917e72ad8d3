import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { type LocatedYaml, parseYaml } from "../schema/parse-yaml.ts";
import type { SourceLocation } from "../text/source-location.ts";
import {
  findSandboxSpecProblems,
  type SandboxSpec,
  type SandboxSpecFile,
  toSandboxSpec,
} from "./rules/sandbox-spec.ts";

/**
 * Parses a `sandbox.yaml` and fills in defaults. If the file is invalid, throws the problem that is closest
 * to its top.
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

/** Compares two problems by their position in the file, so that users correct the file from top to bottom. */
function compare(one: SourceLocation, other: SourceLocation): number {
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0);
}

/**
 * Replaces the parsed values of environment variables by their source text, because YAML parses `1.10` as the
 * number 1.1, and `0755` as the number 755.
 */
function withEnvAsWritten(file: SandboxSpecFile, { textOf }: LocatedYaml): SandboxSpecFile {
  if (!file.env) return file;
  const env = Object.fromEntries(
    Object.entries(file.env).map(([name, value]) => [name, textOf(`/env/${name}`) ?? value]),
  );
  return { ...file, env };
}
