import { requireSwarmState } from "../../../state/find-state.ts";
import { findWorkerByArgument } from "../../../state/rules/choose-workers.ts";
import { followWorkerLog } from "../../../swarm/worker/find-running-container.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { argumentAt, type CommandHandler } from "../../flags/command.ts";

/** The number of existing log lines to show before new ones. */
const last = 20;

export const attachCommand: CommandHandler = async ({ project, output, signal }, args) => {
  const record = findWorkerByArgument(await requireSwarmState(project), argumentAt(args, 0));
  const worker = workerSlug(record);
  output.note(`Watching ${worker}. Ctrl-C ends this command, but not the worker.`);
  for await (const line of followWorkerLog(project, record, { last }, signal))
    await output.item({ worker, line }, () => line);
  if (signal.aborted) return;
  output.note(`The container of ${worker} has ended.`);
  output.next(
    `\`swarm logs ${worker}\` shows the worker's whole log, \`swarm status\` shows the worker's final status`,
  );
};
