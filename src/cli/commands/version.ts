import { exitCodes } from "../../domain/exit-codes.ts";
import type { CommandHandler } from "../command.ts";
import { version } from "../version.ts";

export const versionCommand: CommandHandler = async ({ output }) => {
  output.result({ version }, () => [version]);
  return exitCodes.done;
};
