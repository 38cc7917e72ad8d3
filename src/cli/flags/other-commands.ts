import { type Command, lazy } from "./command.ts";
import { settingFlags } from "./setting-flags.ts";

const pluginModule = () => import("../commands/other/plugin.ts");

export const otherCommands: readonly Command[] = [
  {
    name: "hook <event>",
    description: "handle the hook events of Claude Code: pre-tool-use, session-start, post-tool-use",
    options: [
      ["--plugin <folder>", "the path of the plugin's folder, as Claude Code passes it to hooks"],
      ["--explain", "with pre-tool-use: print the decision about a tool call and the reason as text"],
    ],
    isQuiet: true,
    load: lazy(() => import("../commands/other/hook.ts"), "hookCommand"),
  },
  {
    name: "statusline",
    description: "print a line for Claude Code's status line, from the state file; empty without a swarm",
    options: [["--wrap <command>", "the command of another status line; its output is printed first"]],
    load: lazy(() => import("../commands/other/statusline.ts"), "statuslineCommand"),
  },
  {
    name: "plugin",
    description: "install the plugin for Claude Code: slash commands, hooks and a skill",
    commands: [
      {
        name: "install",
        description: "install the plugin with the `claude` program on the PATH",
        load: lazy(pluginModule, "pluginInstallCommand"),
      },
      {
        name: "validate",
        description: "validate the plugin with Claude Code, and test the plugin's hook with sample calls",
        load: lazy(pluginModule, "pluginValidateCommand"),
      },
      {
        name: "path",
        description: "print the path of the plugin's folder, for `claude --plugin-dir`",
        load: lazy(pluginModule, "pluginPathCommand"),
      },
    ],
  },
  {
    name: "config",
    description: "settings",
    commands: [
      {
        name: "explain",
        description: "show the value and the origin of each setting",
        options: settingFlags,
        load: lazy(() => import("../commands/other/config.ts"), "configExplainCommand"),
      },
    ],
  },
];
