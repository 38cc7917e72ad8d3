import { SwarmError } from "../../domain/errors.ts";
import type { CommandHandler } from "../command.ts";

/** It is answered before this is loaded; what comes here was mistyped. */
export const statusline: CommandHandler = async () => {
  throw new SwarmError("USAGE", { message: "swarm statusline wants nothing, or --wrap <command>" });
};
