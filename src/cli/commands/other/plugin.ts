import { installPlugin, type PluginReport, validatePlugin } from "../../../claude-code/install-plugin.ts";
import { writePluginFolder } from "../../../claude-code/plugin-folder.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import type { CommandHandler } from "../../flags/command.ts";

export const pluginPathCommand: CommandHandler = async ({ project, output }) => {
  const folder = await writePluginFolder(project);
  output.result({ folder }, () => [sanitizeText(folder)]);
  output.next(
    `\`claude --plugin-dir ${sanitizeText(folder)}\` tries the plugin, \`swarm plugin install\` installs it`,
  );
};

export const pluginInstallCommand: CommandHandler = async ({ project, output }) => {
  const installed = await output.during("Installing the plugin", (onStep) => installPlugin(project, onStep));
  output.result(installed, () => [
    `Installed aimi ${installed.version} into Claude Code ${sanitizeText(installed.claude)}.`,
    "A new Claude Code session has the commands /aimi:plan-tasks, /aimi:swarm and /aimi:review.",
  ]);
  output.next("`swarm doctor` tests the plugin's hook with a sample call");
};

export const pluginValidateCommand: CommandHandler = async ({ project, output }) => {
  const report = await validatePlugin(project);
  output.result(report, () => lines(report));
  output.next(
    isGood(report)
      ? "`swarm plugin install`"
      : "fix the problems above, then run `swarm plugin validate` again",
  );
  return isGood(report) ? exitCodes.done : exitCodes.environment;
};

function isGood({ claude, hook }: PluginReport): boolean {
  return (claude === null || claude.valid) && hook.approved && hook.refused;
}

function lines({ folder, claude, hook }: PluginReport): string[] {
  const { approved, refused, why } = hook;
  return [
    `plugin  ${sanitizeText(folder)}`,
    ...(claude === null
      ? ["claude  not on the PATH, so Claude Code did not check the plugin"]
      : [
          claude.valid
            ? "claude  accepts the plugin"
            : `claude  refuses the plugin:\n${claude.output.trimEnd()}`,
        ]),
    approved
      ? "hook    approves `swarm status --json`"
      : `hook    does not approve \`swarm status --json\`, which it must approve: ${why}`,
    refused
      ? "hook    leaves the decision about `swarm status --json; true` to the user"
      : "hook    APPROVES `swarm status --json; true`, which it must not approve",
  ];
}
