import { exitCodes } from "../../domain/exit-codes.ts";
import type { CommandHandler } from "../command.ts";
import { statusLines, statusNext } from "../status-lines.ts";

export const status: CommandHandler = async ({ swarm, output }) => {
  const state = await swarm.findState();
  if (!state) {
    output.result({ swarm: null }, () => ["There is no swarm here."]);
    output.next(
      "`swarm plan` shows what could run, `swarm init` writes an example, `swarm help` shows every command",
    );
    return exitCodes.done;
  }
  output.result({ swarm: state }, () => statusLines(state));
  output.next(statusNext);
  return exitCodes.done;
};
