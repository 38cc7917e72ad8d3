import { basename } from "node:path";
import type { ContainerRecord } from "../../contract/swarm-state.ts";
import type { TaskFile } from "../../contract/tasks.ts";
import type { Project } from "../../project/project.ts";
import { readAcceptedTask } from "../../tasks/load-tasks.ts";
import type { LoadedTask, WorkerTask } from "../../tasks/rules/plan.ts";
import { workerSlug } from "../../text/slugs.ts";
import { taskRequestsOf } from "./swarm-settings.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

export interface FindWorkerTaskDeps extends Pick<WorkerChannel, "findRequest"> {
  /** Loads a task file; returns null if the file is gone or has become invalid. */
  readonly loadTask: (path: string) => Promise<LoadedTask | null>;
}

/**
 * Returns the task of a worker: from the stored task request of its present attempt, or else from the task
 * file if it is valid, or else from the newest task request of an earlier attempt. Null if none of them
 * exists.
 */
export async function findWorkerTask(
  deps: FindWorkerTaskDeps,
  record: ContainerRecord,
): Promise<WorkerTask | null> {
  const { taskFilePath: path, attempt } = record;
  const file = await deps.loadTask(path);
  const request = await findNewestRequest(deps, record, attempt);
  if (file !== null && (request === null || JSON.stringify(request) === JSON.stringify(file.taskFile)))
    return file;
  let taskFile = request;
  for (let earlier = attempt - 1; taskFile === null && earlier > 0; earlier -= 1)
    taskFile = await findNewestRequest(deps, record, earlier);
  return taskFile && { path, fileName: basename(path), sha256: null, taskFile };
}

async function findNewestRequest(
  { findRequest }: FindWorkerTaskDeps,
  record: ContainerRecord,
  attempt: number,
): Promise<TaskFile | null> {
  const request = await findRequest({ slug: workerSlug(record), attempt });
  return (request?.taskFile as unknown as TaskFile | undefined) ?? null;
}

/** Returns the task of a worker from the project's task files and stored requests, as `findWorkerTask` does. */
export async function findTaskOfWorker(
  project: Pick<Project, "repository" | "tasks">,
  swarmId: string,
  record: ContainerRecord,
): Promise<WorkerTask | null> {
  const { findRequest } = await taskRequestsOf(project, swarmId);
  const folder = await project.tasks.folder();
  return findWorkerTask({ findRequest, loadTask: (path) => readAcceptedTask(folder, path) }, record);
}
