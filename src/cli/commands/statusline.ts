import { SwarmError } from "../../domain/errors.ts";
import type { CommandHandler } from "../command.ts";

/** Reports typing errors: `quick-answers.ts` handles the valid forms of the command before this handler. */
export const statuslineCommand: CommandHandler = async () => {
  throw new SwarmError("USAGE", {
    message: "swarm statusline takes no arguments, only the flag --wrap <command>",
  });
};
