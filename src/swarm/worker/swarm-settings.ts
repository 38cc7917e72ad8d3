import type { Project } from "../../project/project.ts";
import { applyRecordedSettings } from "../../settings/rules/recorded-settings.ts";
import type { Settings } from "../../settings/rules/settings.ts";
import { openTaskRequestStore, type TaskRequestStore } from "./task-request-store.ts";

/** Opens the store of the task requests and settings of a swarm. */
export async function taskRequestsOf(
  { repository }: Pick<Project, "repository">,
  swarmId: string,
): Promise<TaskRequestStore> {
  return openTaskRequestStore((await repository()).gitFolder, swarmId);
}

/**
 * Returns the settings with which the swarm was started, except those that the flags of the current command
 * override. For null, returns the settings of a new swarm.
 */
export async function settingsOfSwarm(
  project: Pick<Project, "repository" | "settings">,
  swarmId: string | null,
): Promise<Settings> {
  const { explained } = await project.settings();
  const recorded = swarmId === null ? null : await (await taskRequestsOf(project, swarmId)).findSettings();
  return applyRecordedSettings(explained, recorded);
}
