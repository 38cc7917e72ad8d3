import type { PrivateEngineStatus } from "../../../engine/private-engine.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { askToInstallPackages } from "../../render/ask-for-confirmation.ts";
import { alignTable } from "../../render/table.ts";

export const engineStartCommand: CommandHandler = async (
  { project, output, signal },
  _args,
  { yes, reset },
) => {
  const engine = await project.engines.private();
  const mayInstall = await askToInstallPackages(output, engine, yes === true);
  const status = await output.during("Starting the private engine", (onStep) =>
    engine.start({ mayInstall, onStep, reset: reset === true, signal }),
  );
  output.result(status, () => lines(status));
  output.next("`swarm doctor`");
};

export const engineStopCommand: CommandHandler = async ({ project, output }) => {
  const engine = await project.engines.private();
  const status = await output.during("Stopping the private engine", (onStep) => engine.stop({ onStep }));
  output.result(status, () => lines(status));
};

export const engineStatusCommand: CommandHandler = async ({ project, output }) => {
  const now = await (await project.engines.private()).status();
  output.result(now, () => lines(now));
  if (now.state === "stopped") output.next("`swarm engine start`");
};

function lines({ state, endpoint, folder, log, pid, runtimes, reason }: PrivateEngineStatus): string[] {
  const rows = [
    ["state", state === "unsupported" ? `a private engine cannot run on this machine: ${reason}` : state],
    ["endpoint", endpoint],
    ["folder", folder],
    ["log", log],
  ];
  if (state === "running") rows.push(["pid", String(pid ?? "unknown")], ["runtimes", runtimes.join(", ")]);
  return alignTable(rows);
}
