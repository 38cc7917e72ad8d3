import { type AgentAccess, agentAccess } from "../gateway/agent-access.ts";
import type { Project } from "../project/project.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { readAcceptedTask } from "../tasks/load-tasks.ts";
import { settingsOfSwarm } from "./worker/swarm-settings.ts";
import { openTaskRequestStore } from "./worker/task-request-store.ts";

/**
 * Returns which models the agents may call, and with which credentials, under these settings. If `settings` is
 * null, uses the settings of a new swarm.
 */
export async function modelAccess(
  project: Pick<Project, "host" | "repository" | "settings" | "tasks">,
  settings: Settings | null,
): Promise<AgentAccess> {
  const { gitFolder } = await project.repository();
  return agentAccess({
    settings: settings ?? (await settingsOfSwarm(project, null)),
    env: project.host.env,
    requestsOf: (swarmId) => openTaskRequestStore(gitFolder, swarmId),
    loadTask: async (path) => readAcceptedTask(await project.tasks.folder(), path),
  });
}
