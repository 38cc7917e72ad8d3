import type { SettingsFile } from "../contract/config.ts";
import { SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";
import type { LocatedDocument } from "./located-document.ts";
import { findSettingProblems } from "./rules/setting-problems.ts";

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
      name: nameOf(wrong.pointer.replace(/\/\d+$/, "")),
      value: wrong.shown,
      expected: wrong.expected,
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
