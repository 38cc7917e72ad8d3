import type { CommandHandler } from "../../flags/command.ts";
import { version } from "../../version.ts";

export const versionCommand: CommandHandler = async ({ output }) => {
  output.result({ version }, () => [version]);
};
