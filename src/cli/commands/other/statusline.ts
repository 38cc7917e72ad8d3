import { usageError } from "../../../errors/errors.ts";
import type { CommandHandler } from "../../flags/command.ts";

/** Throws a USAGE error. `fast-hooks.ts` has already handled the valid forms of `swarm statusline`. */
export const statuslineCommand: CommandHandler = async () => {
  throw usageError("swarm statusline takes no arguments, only the flag --wrap <command>");
};
