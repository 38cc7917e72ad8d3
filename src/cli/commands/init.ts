import { exitCodes } from "../../errors/exit-codes.ts";
import type { CommandHandler } from "../flags/command.ts";
import { alignTable } from "../render/table.ts";

export const initCommand: CommandHandler = async ({ swarm, output }) => {
  const files = await swarm.init();
  output.result({ files }, () => alignTable(files.map(({ path, result }) => [path, result])));
  output.next("edit the example task file, then `swarm plan`");
  return exitCodes.done;
};
