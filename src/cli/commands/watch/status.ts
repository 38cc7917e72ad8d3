import { join } from "node:path";
import { exitCodes } from "../../../errors/exit-codes.ts";
import { readDependsOn } from "../../../schema/read-depends-on.ts";
import { requireState } from "../../../state/find-state.ts";
import { swarmExitCode } from "../../../state/rules/swarm-exit.ts";
import type { SwarmStatus } from "../../../state/rules/swarm-status.ts";
import { watchState } from "../../../state/watch-state.ts";
import { findSwarmStatus, readRecordedStatus } from "../../../swarm/read-swarm-status.ts";
import type { CommandContext, CommandHandler } from "../../flags/command.ts";
import {
  type StatusLinesInput,
  statusDocument,
  statusLines,
  suggestNextCommand,
} from "../../render/status-lines.ts";

type DependsOn = StatusLinesInput["dependsOn"];

export const statusCommand: CommandHandler = async (context, _args, { watch, exitStatus }) => {
  const { output, project } = context;
  const { root } = await project.repository();
  const dependsOn: DependsOn = ({ taskFilePath }) => readDependsOn(join(root, taskFilePath));
  const found = watch ? await watchUntilEnd(context, dependsOn) : await findSwarmStatus(project);
  if (exitStatus) requireState(found);
  if (!watch || !found) {
    output.result(statusDocument(found), () =>
      found ? statusLines(found, { now: new Date(), dependsOn }) : ["There is no swarm in this worktree."],
    );
  }
  output.next(suggestNextCommand(found));
  if (!found || !exitStatus) return exitCodes.done;
  return found.reconciled ? swarmExitCode(found.swarm) : exitCodes.environment;
};

async function watchUntilEnd(context: CommandContext, dependsOn: DependsOn): Promise<SwarmStatus | null> {
  const { watchStatus } = await import("../../render/watch-status.ts");
  const { project } = context;
  const stateFile = await project.state.path();
  return watchStatus(context, {
    dependsOn,
    status: () => findSwarmStatus(project),
    recordedStatus: () => readRecordedStatus(project),
    watchState: (onChange, signal) => watchState(stateFile, onChange, signal),
  });
}
