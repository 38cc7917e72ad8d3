import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { openProjectSandboxes, type SandboxProject } from "../open-project-sandboxes.ts";
import { findSandbox } from "../running-sandbox.ts";
import { type RunTaskRequest, runTaskInSandbox, type TaskRunResult } from "./run-task.ts";

interface RunTaskFileRequest extends Pick<RunTaskRequest, "file" | "onOutput"> {
  /** The ID or name of the sandbox; null for the latest sandbox. */
  readonly sandbox: string | null;
}

const maxTaskBytes = 16 * 1024 * 1024;

/** Runs a file of this machine as a task in a sandbox, and copies the outputs to this machine. */
export async function runTaskFile(
  project: SandboxProject,
  { file, sandbox, onOutput }: RunTaskFileRequest,
  signal: AbortSignal,
): Promise<TaskRunResult> {
  const content = await readTask(project.host.folder, file);
  const sandboxes = await openProjectSandboxes(project);
  const record = await findSandbox(sandboxes, sandbox);
  return runTaskInSandbox(sandboxes, { record, file, content, onOutput }, signal);
}

async function readTask(folder: string, file: string): Promise<Uint8Array> {
  try {
    const content = await readFile(resolve(folder, file));
    if (content.length > maxTaskBytes)
      throw new SwarmError("TASK_MISSING", { file, reason: "the file is larger than 16 MiB" });
    return content;
  } catch (error) {
    if (error instanceof SwarmError) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT" ? "the file does not exist" : code === "EISDIR" ? "the path is a folder" : code;
    throw new SwarmError("TASK_MISSING", { file, reason }, error);
  }
}
