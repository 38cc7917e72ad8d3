import { parseJsonOrNull } from "../../../text/parse-json-or-null.ts";
import { compilePathPattern } from "../../../text/path-pattern.ts";
import { normalizePath } from "../../../text/tree-path.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses a JSON object. Returns null if the text is not valid JSON or is another kind of value. */
export function parseJsonObject(text: string): JsonObject | null {
  const value = parseJsonOrNull(text.replace(/^\uFEFF/, ""));
  return isJsonObject(value) ? value : null;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the items of a list that are strings; returns an empty list if the value is no list. */
export function stringItemsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

export interface TomlSection {
  /**
   * The name in the header of a TOML section, without quotes and spaces; "" for the lines before the first
   * header.
   */
  readonly name: string;
  readonly body: string;
}

/**
 * Splits the text of a TOML file into its sections. It is no full parser, but it is sufficient to find a few
 * keys.
 */
export function parseTomlSections(text: string): TomlSection[] {
  const sections: { name: string; lines: string[] }[] = [{ name: "", lines: [] }];
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    const header = /^\[\[?([^\][]{1,300})\]\]?\s*(?:#.*)?$/.exec(trimmed);
    if (header) sections.push({ name: (header[1] ?? "").replace(/["'\s]/g, ""), lines: [] });
    else if (!trimmed.startsWith("#")) sections.at(-1)?.lines.push(trimmed);
  }
  return sections.map(({ name, lines }) => ({ name, body: lines.join("\n") }));
}

/** Returns the strings in the list that a TOML key has as its value. The list may have several lines. */
function readTomlList(body: string, key: string): string[] {
  const [, list = ""] = new RegExp(`^${key}\\s*=\\s*\\[([^\\]]*)\\]`, "m").exec(body) ?? [];
  return findQuotedStrings(list);
}

/** Returns the patterns of a workspace in the TOML section `name`; an excluded folder's pattern begins with `!`. */
export function readTomlWorkspace(sections: readonly TomlSection[], name: string): string[] {
  const body = sections.find((section) => section.name === name)?.body ?? "";
  return [...readTomlList(body, "members"), ...readTomlList(body, "exclude").map((pattern) => `!${pattern}`)];
}

/** Returns the string that a TOML key has as its value. The key must begin its line. */
export function readTomlString(body: string, key: string): string | undefined {
  return new RegExp(`^${key}\\s*=\\s*["']([^"'\\n]*)["']`, "m").exec(body)?.[1];
}

export function findQuotedStrings(text: string): string[] {
  return [...text.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].map(([, double, single]) => double ?? single ?? "");
}

/**
 * Returns the strings of the list that a top-level key of a YAML file has as its value. The list may have
 * block style or flow style.
 */
export function readYamlList(text: string, key: string): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`${key}:`));
  if (start < 0) return [];
  const inline = /\[([^\]]*)\]/.exec(lines[start] ?? "");
  if (inline) return (inline[1] ?? "").split(",").map(unquoted).filter(Boolean);

  const items: string[] = [];
  for (const line of lines.slice(start + 1)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    if (!trimmed.startsWith("-")) break;
    items.push(unquoted(trimmed.slice(1)));
  }
  return items;
}

function unquoted(text: string): string {
  const trimmed = text.trim();
  const [, quoted] = /^["']([^"']*)["']/.exec(trimmed) ?? [];
  return quoted ?? trimmed.replace(/\s#.*$/, "").trim();
}

/**
 * Returns a function that tells whether a package manager's list of workspace patterns includes a folder.
 * The last matching pattern decides; a pattern that begins with `!` excludes the folder.
 */
export function createWorkspaceMatcher(patterns: readonly string[]): (folder: string) => boolean {
  const rules = patterns.slice(0, 200).flatMap((pattern) => {
    const includes = !pattern.startsWith("!");
    return withoutBraces(includes ? pattern : pattern.slice(1)).map((plain) => ({
      includes,
      matches: compilePathPattern(normalizePath(plain)),
    }));
  });
  return (folder) => rules.findLast(({ matches }) => matches(folder))?.includes ?? false;
}

function withoutBraces(pattern: string): string[] {
  const [whole, before, choices, after] = /^([^{}]*)\{([^{}]*)\}(.*)$/.exec(pattern) ?? [];
  if (whole === undefined || choices === undefined) return [pattern];
  return choices
    .split(",")
    .slice(0, 20)
    .flatMap((choice) => withoutBraces(`${before}${choice}${after}`).slice(0, 100));
}
