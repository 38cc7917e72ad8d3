import type { SandboxSpecFile } from "../contract/sandbox.ts";
import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { type LocatedYaml, parseYaml } from "../schema/parse-yaml.ts";
import { findSandboxSpecProblems, type SandboxSpec, toSandboxSpec } from "./rules/sandbox-spec.ts";

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
    // Users correct the file from top to bottom.
    .sort(
      ({ place: one }, { place: other }) =>
        (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
    );
  if (first) throw new SwarmError("SANDBOX_SPEC_INVALID", first);
  return toSandboxSpec(withEnvAsWritten(yaml.value as SandboxSpecFile, yaml));
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
