import type { Finding } from "../contract/doctor.ts";
import type { Project } from "../project/project.ts";
import { loadTasks } from "../tasks/load-tasks.ts";
import { formatCount } from "../text/format-count.ts";
import { finding } from "./finding.ts";

/**
 * Returns the finding of `swarm doctor` about the number of task files. Throws the error of the first invalid
 * task file.
 */
export async function checkTaskFiles(project: Pick<Project, "git" | "settings" | "tasks">): Promise<Finding> {
  const { effective } = await project.settings();
  const deps = {
    folder: await project.tasks.folder(),
    git: await project.git.queries(),
    // Counts tasks as if the user trusted them: another finding reports trust.
    trust: { isTrusted: async () => true },
  };
  const { tasks } = await loadTasks(deps, { files: [], settings: effective, strict: false });
  return finding("task files", "good", formatCount(tasks.length, "task file"));
}
