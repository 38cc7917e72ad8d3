import { findAgentProblem } from "../agents/default-agent.ts";
import { SwarmError } from "../errors/errors.ts";
import type { GitQueries } from "../git/git.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { findFieldsNeedingTrust } from "../settings/rules/trust.ts";
import type { TrustFile } from "../settings/trust-file.ts";
import { formatLocation, type SourceLocation } from "../text/source-location.ts";
import { type ReadTaskFile, readTaskFile } from "./parse-task-file.ts";
import type { TaskFolder } from "./project-tasks.ts";
import { findTaskConflicts, type LoadedTask } from "./rules/plan.ts";
import { findBranchProblems, findTaskFileWarnings } from "./rules/task-file-problems.ts";

export interface LoadTasksDeps {
  readonly folder: TaskFolder;
  readonly trust: Pick<TrustFile, "isTrusted">;
  readonly git: Pick<GitQueries, "remotes">;
}

export interface LoadTasksRequest {
  /** The names or paths of the task files to load; an empty list means all task files. */
  readonly files: readonly string[];
  readonly settings: Pick<Settings, "budgetUsd" | "timeout" | "agent" | "agentCommand">;
  /** Whether a warning about a task file counts as an error. */
  readonly strict: boolean;
}

interface Placed {
  readonly task: LoadedTask;
  readonly placeOf: (pointer: string) => SourceLocation;
}

/** Reads and validates the task files, before any worker starts. Throws the first problem as an error. */
export async function loadTasks(
  deps: LoadTasksDeps,
  request: LoadTasksRequest,
): Promise<{ tasks: LoadedTask[]; warnings: string[] }> {
  const { fileNames, ignored } = await deps.folder.list();
  const wanted = request.files.length > 0 ? request.files : fileNames;
  const warnings = ignored.map(
    (name) =>
      `${JSON.stringify(name)} was ignored: the name of a task file may have only letters, digits, spaces, dots, - and _`,
  );
  const placed: Placed[] = [];
  for (const file of new Set(wanted)) {
    const loaded = await loadTask(deps, file, request);
    if (placed.some(({ task }) => task.fileName === loaded.task.fileName)) continue;
    placed.push(loaded);
    warnings.push(...findWarnings(loaded, request.strict));
  }

  const remotes = placed.length === 0 ? [] : await deps.git.remotes();
  for (const each of placed) refuseBranch(each, remotes);

  const tasks = placed.map(({ task }) => task);
  const [clash, ...more] = findTaskConflicts(tasks, fileNames);
  if (clash) {
    const { path, pointer, problem, hint } = clash;
    const place = placed.find(({ task }) => task.path === path)?.placeOf(pointer) ?? { file: path };
    throw new SwarmError("TASK_FILE_INVALID", { place, problem, hint, more: more.length });
  }
  return { tasks, warnings };
}

/**
 * Reads a task whose file was valid when the task was added to the swarm. Returns null if the file is gone or
 * has become invalid.
 */
export async function readAcceptedTask(
  folder: Pick<TaskFolder, "read">,
  file: string,
): Promise<LoadedTask | null> {
  try {
    return loadedTask(await readTaskFile(folder, file));
  } catch (error) {
    if (error instanceof SwarmError) return null;
    throw error;
  }
}

async function loadTask(
  { folder, trust }: LoadTasksDeps,
  file: string,
  { settings }: LoadTasksRequest,
): Promise<Placed> {
  const read = await readTaskFile(folder, file);
  const { path, document, locationOf } = read;
  const [need] = findFieldsNeedingTrust(document, settings);
  if (need && !(await trust.isTrusted(read.realPath, read.sha256)))
    throw new SwarmError("UNTRUSTED", { place: locationOf(need.pointer), field: need.field, why: need.why });
  const problem = document.metadata.agent ? null : findAgentProblem(settings);
  if (problem !== null) throw new SwarmError("USAGE", { message: `${path} names no agent, and ${problem}` });
  return { task: loadedTask(read), placeOf: locationOf };
}

function loadedTask({ fileName, path, sha256, document }: ReadTaskFile): LoadedTask {
  return { fileName, path, sha256, taskFile: document };
}

/**
 * Throws if the branch name of a task begins with the name of a git remote, as in `origin/login`, because git
 * would then resolve this name to the task's branch instead of the remote's branch.
 */
function refuseBranch({ task, placeOf }: Placed, remotes: readonly string[]): void {
  const [found] = findBranchProblems(task.taskFile.metadata, remotes);
  if (!found) return;
  const { pointer, problem, hint } = found;
  throw new SwarmError("TASK_FILE_INVALID", { place: placeOf(pointer), problem, hint, more: 0 });
}

function findWarnings({ task, placeOf }: Placed, strict: boolean): string[] {
  return findTaskFileWarnings(task.taskFile).map(({ pointer, problem }) => {
    if (strict) throw new SwarmError("TASK_FILE_REFUSED", { place: placeOf(pointer), problem });
    return `${formatLocation(placeOf(pointer))}: ${problem}`;
  });
}
