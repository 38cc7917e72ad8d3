import { SwarmError } from "../../errors/errors.ts";
import { type ExitCode, exitCodes } from "../../errors/exit-codes.ts";
import { swarmExitCode } from "../../state/rules/swarm-exit.ts";
import type { SwarmStatus } from "../../state/rules/swarm-status.ts";
import type { CommandHandler } from "../flags/command.ts";
import { statusDocument, statusLines, suggestNextCommand } from "../render/status-lines.ts";

export const statusCommand: CommandHandler = async (context, _args, { watch, exitStatus }) => {
  const { output, swarm } = context;
  const upkeep = swarm.upkeep();
  const found = watch
    ? await (await import("../render/watch-status.ts")).watchStatus(context, upkeep)
    : await upkeep.status();
  if (!found && exitStatus) throw new SwarmError("STATE_MISSING", { file: ".aimi/swarm-state.json" });
  if (!watch || !found) {
    const dependsOn = await upkeep.taskDependencies();
    output.result(statusDocument(found), () =>
      found ? statusLines(found, { now: new Date(), dependsOn }) : ["There is no swarm in this worktree."],
    );
  }
  output.next(suggestNextCommand(found));
  return found && exitStatus ? exitOf(found) : exitCodes.done;
};

function exitOf({ swarm, reconciled }: SwarmStatus): ExitCode {
  return reconciled ? swarmExitCode(swarm) : exitCodes.environment;
}
