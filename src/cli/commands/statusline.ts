import { SwarmError } from "../../domain/errors.ts";
import type { CommandHandler } from "../command.ts";

/** `quick-answers.ts` handles the valid forms; only typing errors get here. */
export const statusline: CommandHandler = async () => {
  throw new SwarmError("USAGE", { message: "swarm statusline wants nothing, or --wrap <command>" });
};
