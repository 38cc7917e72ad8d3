import { initProject } from "../../../tasks/init-project.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { alignTable } from "../../render/table.ts";

export const initCommand: CommandHandler = async ({ project, output }) => {
  const files = await initProject(project);
  output.result({ files }, () => alignTable(files.map(({ path, result }) => [path, result])));
  output.next("edit the example task file, then `swarm plan`");
};
