import { type SteeringCommand, steerSwarm } from "../../../swarm/steer.ts";
import { type CommandHandler, variadicArgumentAt } from "../../flags/command.ts";
import { workerResultLines } from "../../render/result-lines.ts";

/**
 * Makes the handler of a command that controls running workers, such as `swarm stop`. The handler sends the
 * command to the swarm's owner; without an owner, it applies the command itself.
 */
function steering(command: SteeringCommand, next: string): CommandHandler {
  return async ({ project, output, signal }, args) => {
    const { by, state } = await output.during(`Applying the command ${command}`, () =>
      steerSwarm(project, command, variadicArgumentAt(args, 0), signal),
    );
    output.result({ swarm: state }, () =>
      by === "none" ? ["All of these workers have ended already."] : workerResultLines(state),
    );
    if (by !== "none") output.next(next);
  };
}

export const stopCommand: CommandHandler = steering("stop", "`swarm resume` continues the stopped workers");
export const pauseCommand: CommandHandler = steering("pause", "`swarm unpause` continues the paused workers");
export const unpauseCommand: CommandHandler = steering("unpause", "`swarm status`");
