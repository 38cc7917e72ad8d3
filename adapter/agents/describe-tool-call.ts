import type { ActivityKind } from "../../src/contract/acp.ts";
import { firstLine } from "./first-line.ts";
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
      return { kind: "plan", summary: describeTodos(toJsonObjects(input["todos"])) };
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

function describeTodos(todos: readonly JsonObject[]): string {
  const done = todos.filter((todo) => todo["status"] === "completed").length;
  const current = toJsonObject(todos.find((todo) => todo["status"] === "in_progress"));
  const now = readStringField(current, "activeForm") ?? readStringField(current, "content");
  return firstLine(`Plan: ${done} of ${todos.length} done${now === null ? "" : `, ${now}`}`);
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
