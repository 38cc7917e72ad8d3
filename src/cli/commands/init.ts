import { exitCodes } from "../../domain/exit-codes.ts";
import type { CommandHandler } from "../command.ts";
import { table } from "../table.ts";

export const init: CommandHandler = async ({ swarm, output }) => {
  const files = await swarm.init();
  output.result({ files }, () => table(files.map(({ path, result }) => [path, result])));
  output.next("edit the example task file, then `swarm plan`");
  return exitCodes.done;
};
