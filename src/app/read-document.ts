import type { Probe } from "../contract/probe.ts";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { SwarmState } from "../contract/swarm-state.ts";
import type { TaskFile } from "../contract/tasks.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";
import type { LocatedDocument } from "../settings/located-document.ts";
import { findSettingProblems } from "../settings/rules/setting-problems.ts";
import type { SettingsFile } from "../settings/rules/settings.ts";
import { findTaskFileProblems } from "../tasks/rules/task-file-problems.ts";

/**
 * Parses and validates a task file. If it is invalid, throws TASK_FILE_INVALID with the first problem and the
 * number of further problems.
 */
export async function parseTaskFile(bytes: Uint8Array, file: string): Promise<LocatedDocument<TaskFile>> {
  const { value, locationOf } = parseTaskJson(bytes, file);
  const violations = await findSchemaViolations("tasks", value);
  const problems = violations.length > 0 ? violations : findTaskFileProblems(value as TaskFile);
  const [first] = problems;
  if (first) {
    const { pointer, problem, hint } = first;
    throw new SwarmError("TASK_FILE_INVALID", {
      place: locationOf(pointer),
      problem,
      hint,
      more: problems.length - 1,
    });
  }
  return { document: value as TaskFile, locationOf };
}

/**
 * Parses the JSON of a task file, without validating it. Throws TASK_FILE_INVALID if the file is not JSON.
 */
function parseTaskJson(bytes: Uint8Array, file: string): ReturnType<typeof parseJson> {
  try {
    return parseJson(bytes, file);
  } catch (error) {
    if (!isError(error, "JSON_INVALID")) throw error;
    const { place, problem } = error.details;
    throw new SwarmError(
      "TASK_FILE_INVALID",
      { place, problem, more: 0, hint: "Correct the JSON at this place." },
      error,
    );
  }
}

/** Parses the settings file of a project or a user. */
export async function parseSettings(bytes: Uint8Array, file: string): Promise<LocatedDocument<SettingsFile>> {
  const { value, locationOf } = parseJson(bytes, file);
  const [first] = await findSchemaViolations("config", value);
  if (first)
    throw new SwarmError("SETTINGS_INVALID", {
      place: locationOf(first.pointer),
      problem: first.problem,
      hint: first.hint,
    });
  const [wrong] = findSettingProblems(value as SettingsFile);
  if (wrong)
    throw new SwarmError("SETTINGS_INVALID", {
      place: locationOf(wrong.pointer),
      problem: `${wrong.pointer.split("/")[1]} cannot be ${JSON.stringify(wrong.shown)}`,
      hint: `Expected: ${wrong.expected}.`,
    });
  return { document: value as SettingsFile, locationOf };
}

/**
 * Parses the state file of a swarm. Throws if the file is invalid, because an invalid file must never be
 * treated as a swarm without workers.
 */
export async function parseState(bytes: Uint8Array, file: string): Promise<SwarmState> {
  const { value, locationOf } = parseStateJson(bytes, file);
  const [first] = await findSchemaViolations("swarm-state", value);
  if (first)
    throw new SwarmError("STATE_INVALID", { place: locationOf(first.pointer), problem: first.problem });
  return value as SwarmState;
}

function parseStateJson(bytes: Uint8Array, file: string): ReturnType<typeof parseJson> {
  try {
    return parseJson(bytes, file);
  } catch (error) {
    if (!isError(error, "JSON_INVALID")) throw error;
    const { place, problem } = error.details;
    throw new SwarmError("STATE_INVALID", { place, problem }, error);
  }
}

/**
 * Validates settings from command-line flags or environment variables. `nameOf` returns the name of the flag
 * or variable that sets a value.
 */
export async function checkSettings(
  settings: SettingsFile,
  nameOf: (pointer: string) => string,
): Promise<SettingsFile> {
  // This check runs before the schema's, because its messages show no values: the user may have typed a
  // secret where a reference belongs.
  const [wrong] = findSettingProblems(settings);
  if (wrong)
    throw new SwarmError("INVALID_VALUE", {
      ...{ name: nameOf(wrong.pointer.replace(/\/\d+$/, "")), value: wrong.shown, expected: wrong.expected },
    });
  const [first] = await findSchemaViolations("config", settings);
  if (!first) return settings;
  const value = first.pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], settings);
  throw new SwarmError("INVALID_VALUE", {
    name: nameOf(first.pointer),
    value: String(value),
    expected: first.hint.replace(/\.$/, ""),
  });
}

/** Parses and validates the record of one sandbox. */
export async function parseSandboxRecord(bytes: Uint8Array, file: string): Promise<SandboxRecord> {
  const { value, locationOf } = parseJson(bytes, file);
  const [first] = await findSchemaViolations("sandbox-run", value);
  if (first)
    throw new SwarmError("FILE_UNREADABLE", { place: locationOf(first.pointer), reason: first.problem });
  return value as SandboxRecord;
}

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

/** Whether a value is a valid merge report, as `swarm merge --json` prints it. */
export async function isMergeReport(value: unknown): Promise<boolean> {
  return (await findSchemaViolations("merge", value)).length === 0;
}

/**
 * Whether a value is a valid proof report. Swarm writes this report after it has checked a worker's result in
 * new sandboxes.
 */
export async function isProofReport(value: unknown): Promise<boolean> {
  return (await findSchemaViolations("proof", value)).length === 0;
}
