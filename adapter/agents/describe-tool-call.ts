import type { ActivityKind } from "../../src/contract/acp.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import { type JsonObject, readStringField, toJsonObject, toJsonObjects } from "./read-json-fields.ts";

/** A short description of a tool call, for people to read. */
export interface ToolCallDescription {
  readonly kind: ActivityKind;
  readonly summary: string;
}

/** Describes a tool call of Claude Code in one line. Shows paths relative to the work folder. */
export function describeToolCall(name: string, input: JsonObject, folder: string): ToolCallDescription {
  const of = (field: string): string => readStringField(input, field) ?? "";
  switch (name) {
    case "Bash":
      return { kind: "command", summary: firstLine(`Bash: ${of("command")}`) };
    case "TodoWrite":
      return { kind: "plan", summary: describePlan(toJsonObjects(input["todos"]), "activeForm", "content") };
    case "TaskCreate":
    case "TaskUpdate":
      return { kind: "plan", summary: firstLine(`Plan: ${of("subject") || of("status") || "changed"}`) };
    default: {
      const path = of("file_path") || of("notebook_path") || of("path");
      const object = path === "" ? firstOf(input) : withoutFolder(path, folder);
      return { kind: "tool", summary: firstLine(`${name} ${object}`) };
    }
  }
}

/** Describes a plan of an agent in one line. The current step's text is in the first of the fields that it has. */
export function describePlan(steps: readonly JsonObject[], ...textFields: readonly string[]): string {
  const done = steps.filter((step) => step["status"] === "completed").length;
  const current = toJsonObject(steps.find((step) => step["status"] === "in_progress"));
  const now = textFields.map((field) => readStringField(current, field)).find((text) => text !== null);
  return firstLine(`Plan: ${done} of ${steps.length} done${now === undefined ? "" : `, ${now}`}`);
}

const descriptiveFields = ["pattern", "url", "query", "description", "skill", "command", "prompt"];

function firstOf(input: JsonObject): string {
  return (
    descriptiveFields
      .map((field) => readStringField(input, field))
      .find((text) => text !== null && text !== "") ?? ""
  );
}

function withoutFolder(path: string, folder: string): string {
  return folder !== "" && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

/** Returns the first non-blank line of a text, without characters that are unsafe to display. */
export function firstLine(text: string): string {
  const line = text.split("\n").find((part) => part.trim() !== "") ?? "";
  return sanitizeText(line.trim());
}
