import type { LibraryCall } from "../contract/sandbox-options.ts";
import { isImageReference } from "../engine/rules/image-reference.ts";
import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations, type SchemaViolation } from "../schema/find-violations.ts";
import { findEnvProblems } from "./rules/sandbox-spec.ts";

/**
 * The checks of arguments that JSON Schema cannot describe, such as functions, by the argument's name. An
 * argument has the same meaning in every library call.
 */
const specialArguments: Readonly<
  Record<string, { readonly is: (value: unknown) => boolean; readonly words: string }>
> = {
  signal: { is: (value) => value instanceof AbortSignal, words: "an AbortSignal" },
  onOutput: { is: (value) => typeof value === "function", words: "a function" },
  onStep: { is: (value) => typeof value === "function", words: "a function" },
  input: { is: isBytes, words: "a string or a Uint8Array" },
  content: { is: isBytes, words: "a string or a Uint8Array" },
};

const size = "Pass a whole number of bytes, for example 512 * 1024 ** 2.";
const time = "Pass a whole number of milliseconds from 1 to 604800000 (7 days), for example 60_000.";

/**
 * The hints that an error about an invalid argument contains, by the argument's name. Each hint has an
 * example of a valid value.
 */
const hints: Readonly<Record<string, string>> = {
  command: 'Pass an array of strings, for example ["sh", "-c", "echo hi"]; sh(script) runs a line of shell.',
  timeoutMs: time,
  commandTimeoutMs: time,
  graceMs: time,
  ttlMs: "Pass a whole number of milliseconds from 1000 (1 s) to 604800000 (7 days).",
  memoryBytes: size,
  swapBytes: size,
  diskBytes: size,
  logBytes: size,
  maxBytes: size,
  prefix:
    "Pass a prefix that begins with aimi-, followed by characters from a-z, 0-9 and -, for example aimi-agent-.",
  workdir: "Pass an absolute path without .., for example /workspace.",
  labels: 'Pass an object of names and strings, for example { "com.example.job": "7" }.',
  env: 'Pass an object of names and strings, for example { LANG: "C.UTF-8" }.',
  id: "Pass the id of a sandbox, the first twelve characters of the id, or the sandbox's name.",
  limits:
    "Use only the fields cpus, memoryBytes, swapBytes, pids, descriptors, diskBytes, files and logBytes.",
};

/**
 * Checks the arguments of a library call before the call does anything, because TypeScript's types do not
 * exist at run time. Throws OPTION_INVALID for the first wrong argument.
 */
export async function checkLibraryCall(
  name: keyof LibraryCall,
  call: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { plain, problems } = splitOff(call, `/${name}`);
  const violations = await findSchemaViolations("sandbox-options", { [name]: plain });
  const [first] = [
    ...problems,
    ...violations.map(inOurWords),
    ...(violations.length === 0 ? checkDeeper(plain, name) : []),
  ];
  if (!first) return;
  const [, , ...steps] = first.pointer.split("/");
  const option = steps.length > 1 && steps[0] === "options" ? steps.slice(1) : steps;
  throw new SwarmError("OPTION_INVALID", {
    option: option.join(".") || "options",
    problem: first.problem,
    hint: first.hint,
  });
}

/**
 * Checks the arguments that the schema cannot describe, and returns the other arguments, which the caller
 * validates with the schema.
 */
function splitOff(
  call: Readonly<Record<string, unknown>>,
  pointer: string,
): { readonly plain: Record<string, unknown>; readonly problems: SchemaViolation[] } {
  // The object has no prototype: a key `__proto__` from a parsed document would replace it.
  const plain: Record<string, unknown> = Object.create(null);
  const problems: SchemaViolation[] = [];
  // The loop includes inherited properties, since the library function reads them, too.
  for (const key in call) {
    const value = call[key];
    const at = `${pointer}/${key}`;
    const thing = Object.hasOwn(specialArguments, key) ? specialArguments[key] : undefined;
    if (thing !== undefined) {
      if (value !== undefined && !thing.is(value))
        problems.push({ pointer: at, problem: `${key} must be ${thing.words}`, hint: "Change the value." });
    } else if (key === "options" && isRecord(value)) {
      const inner = splitOff(value, at);
      plain[key] = inner.plain;
      problems.push(...inner.problems);
    } else if (value !== undefined) plain[key] = value;
  }
  return { plain, problems };
}

/**
 * Checks the arguments of a library call with those rules for `sandbox.yaml` that a JSON schema cannot
 * express.
 */
function checkDeeper(plain: Readonly<Record<string, unknown>>, name: string): SchemaViolation[] {
  const { options = {}, tag } = plain as {
    readonly options?: { readonly env?: Readonly<Record<string, string>>; readonly image?: string };
    readonly tag?: string;
  };
  const problems: SchemaViolation[] = [];
  const refuse = (pointer: string, reference: string | undefined): void => {
    if (reference === undefined || isImageReference(reference)) return;
    const hint = "Pass an image such as debian:12-slim or ghcr.io/owner/image@sha256:….";
    problems.push({ pointer, problem: "the value is not an image reference", hint });
  };
  refuse(`/${name}/options/image`, options.image);
  refuse(`/${name}/tag`, tag);
  return [...problems, ...findEnvProblems(options.env ?? {}, `/${name}/options/env`)];
}

function inOurWords({ pointer, problem, hint }: SchemaViolation): SchemaViolation {
  const [last = "", before = ""] = pointer.split("/").reverse();
  const known =
    hints[last] ??
    (/^\d+$/.test(last) || before === "env" || before === "labels" ? hints[before] : undefined);
  return { pointer, problem, hint: known ?? hint };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBytes(value: unknown): boolean {
  return typeof value === "string" || value instanceof Uint8Array;
}
