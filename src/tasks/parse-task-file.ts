import type { TaskFile } from "../contract/tasks.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";
import type { LocatedDocument } from "../settings/located-document.ts";
import type { TaskFileContent, TaskFolder } from "./project-tasks.ts";
import { findTaskFileProblems } from "./rules/task-file-problems.ts";

/** A task file that swarm has read and found valid. */
export type ReadTaskFile = TaskFileContent & LocatedDocument<TaskFile>;

/** Reads a task file from the task folder, and validates the file. */
export async function readTaskFile(folder: Pick<TaskFolder, "read">, file: string): Promise<ReadTaskFile> {
  const content = await folder.read(file);
  return { ...content, ...(await parseTaskFile(content.bytes, content.path)) };
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

/**
 * Parses and validates a task file. If it is invalid, throws TASK_FILE_INVALID with the first problem and the
 * number of further problems.
 */
export async function parseTaskFile(bytes: Uint8Array, file: string): Promise<LocatedDocument<TaskFile>> {
  const { value, locationOf } = parseTaskJson(bytes, file);
  const violations = await findSchemaViolations("tasks", value);
  const problems = violations.length > 0 ? violations : findTaskFileProblems(value as TaskFile);
  const [first, ...more] = problems;
  if (first) {
    const { pointer, problem, hint } = first;
    throw new SwarmError("TASK_FILE_INVALID", {
      place: locationOf(pointer),
      problem,
      hint,
      more: more.length,
    });
  }
  return { document: value as TaskFile, locationOf };
}
