import { isError, SwarmError } from "../domain/errors.ts";
import type { Probe } from "../domain/generated/probe.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SwarmState } from "../domain/generated/swarm-state.ts";
import type { TaskFile } from "../domain/generated/tasks.ts";
import { findSettingProblems } from "../domain/setting-problems.ts";
import type { SettingsFile } from "../domain/settings.ts";
import { findTaskFileProblems } from "../domain/task-file-problems.ts";
import type { ReadDocument } from "../ports/documents.ts";
import { findViolations } from "./find-violations.ts";
import { parseJson } from "./parse-json.ts";

/** A task file, or the first thing that is wrong with it and how many more there are. */
export async function parseTaskFile(bytes: Uint8Array, file: string): Promise<ReadDocument<TaskFile>> {
  const { value, placeOf } = parseTaskJson(bytes, file);
  const violations = await findViolations("tasks", value);
  const problems = violations.length > 0 ? violations : findTaskFileProblems(value as TaskFile);
  const [first] = problems;
  if (first) {
    const { pointer, problem, hint } = first;
    throw new SwarmError("TASK_FILE_INVALID", {
      place: placeOf(pointer),
      problem,
      hint,
      more: problems.length - 1,
    });
  }
  return { document: value as TaskFile, placeOf };
}

/** Broken JSON in a task file is an invalid task file, whatever else it is. */
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

/** A settings file of a project or a user. */
export async function parseSettings(bytes: Uint8Array, file: string): Promise<ReadDocument<SettingsFile>> {
  const { value, placeOf } = parseJson(bytes, file);
  const [first] = await findViolations("config", value);
  if (first)
    throw new SwarmError("SETTINGS_INVALID", {
      place: placeOf(first.pointer),
      problem: first.problem,
      hint: first.hint,
    });
  const [wrong] = findSettingProblems(value as SettingsFile);
  if (wrong)
    throw new SwarmError("SETTINGS_INVALID", {
      place: placeOf(wrong.pointer),
      problem: `${wrong.pointer.split("/")[1]} cannot be ${JSON.stringify(wrong.shown)}`,
      hint: `Expected: ${wrong.expected}.`,
    });
  return { document: value as SettingsFile, placeOf };
}

/** A state file; whatever is wrong with it, it is never taken for an empty swarm. */
export async function parseState(bytes: Uint8Array, file: string): Promise<SwarmState> {
  const { value, placeOf } = parseStateJson(bytes, file);
  const [first] = await findViolations("swarm-state", value);
  if (first) throw new SwarmError("STATE_INVALID", { place: placeOf(first.pointer), problem: first.problem });
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

/** Settings from flags or the environment; `nameOf` says what a person called the value. */
export async function checkSettings(
  settings: SettingsFile,
  nameOf: (pointer: string) => string,
): Promise<SettingsFile> {
  // First what shows no value: where a reference was expected, somebody may have typed the secret itself.
  const [wrong] = findSettingProblems(settings);
  if (wrong)
    throw new SwarmError("INVALID_VALUE", {
      ...{ name: nameOf(wrong.pointer.replace(/\/\d+$/, "")), value: wrong.shown, expected: wrong.expected },
    });
  const [first] = await findViolations("config", settings);
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

/** What is known of a single sandbox. */
export async function parseSandboxRecord(bytes: Uint8Array, file: string): Promise<SandboxRecord> {
  const { value, placeOf } = parseJson(bytes, file);
  const [first] = await findViolations("sandbox-run", value);
  if (first)
    throw new SwarmError("FILE_UNREADABLE", { place: placeOf(first.pointer), reason: first.problem });
  return value as SandboxRecord;
}

/** What the in-container probe printed. */
export async function parseProbe(text: string): Promise<Probe> {
  const { value } = parseJson(Buffer.from(text), "the probe's answer");
  const [first] = await findViolations("probe", value);
  if (first)
    throw new SwarmError("ENGINE_FAILED", {
      operation: "measure a runtime",
      reason: `the probe answered strangely: ${first.problem}`,
    });
  return value as Probe;
}

/** Whether a value is what the last merge of a swarm said. */
export async function isMergeReport(value: unknown): Promise<boolean> {
  return (await findViolations("merge", value)).length === 0;
}

/** Whether a value is what a proof said. */
export async function isProof(value: unknown): Promise<boolean> {
  return (await findViolations("proof", value)).length === 0;
}
