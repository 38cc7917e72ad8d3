import { cleanText } from "../../domain/clean-text.ts";
import { exitCodes } from "../../domain/exit-codes.ts";
import type { PluginReport } from "../../ports/claude-code.ts";
import type { CommandHandler } from "../command.ts";

export const path: CommandHandler = async ({ swarm, output }) => {
  const folder = await swarm.plugin().path();
  output.result({ folder }, () => [cleanText(folder)]);
  output.next(`\`claude --plugin-dir ${cleanText(folder)}\` tries it, \`swarm plugin install\` installs it`);
  return exitCodes.done;
};

export const install: CommandHandler = async ({ swarm, output }) => {
  const installed = await output.during("Installing the plugin", (onStep) => swarm.plugin().install(onStep));
  output.result(installed, () => [
    `Installed aimi ${installed.version} into Claude Code ${cleanText(installed.claude)}.`,
    "In a new session: /aimi:plan-tasks, /aimi:swarm, /aimi:review.",
  ]);
  output.next("`swarm doctor` replays a call through its hook");
  return exitCodes.done;
};

export const validate: CommandHandler = async ({ swarm, output }) => {
  const report = await swarm.plugin().validate();
  output.result(report, () => lines(report));
  output.next(isGood(report) ? "`swarm plugin install`" : "mend what is named, then `swarm plugin validate`");
  return isGood(report) ? exitCodes.done : exitCodes.environment;
};

function isGood({ claude, hook }: PluginReport): boolean {
  return (claude === null || claude.valid) && hook.approved && hook.refused;
}

function lines({ folder, claude, hook }: PluginReport): string[] {
  const { approved, refused, why } = hook;
  return [
    `plugin  ${cleanText(folder)}`,
    ...(claude === null
      ? ["claude  not on the path: its own check was left out"]
      : [claude.valid ? "claude  accepts it" : `claude  refuses it:\n${claude.output.trimEnd()}`]),
    approved ? "hook    approves `swarm status --json`" : `hook    does not approve its own command: ${why}`,
    refused
      ? "hook    leaves `swarm status --json; true` to the user"
      : "hook    APPROVES `swarm status --json; true`",
  ];
}
