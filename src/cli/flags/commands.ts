import { type Command, type CommandGroup, lazy } from "./command.ts";
import { otherCommands } from "./other-commands.ts";
import { reviewCommands } from "./review-commands.ts";
import { sandboxCommands } from "./sandbox-commands.ts";
import { deprecatedStartFlags } from "./setting-flags.ts";
import { startCommands } from "./start-commands.ts";
import { ownerFlags, startRequestFlags, unattendedFlags } from "./start-flags.ts";
import { stateCommands } from "./state-commands.ts";
import { steerCommands } from "./steer-commands.ts";
import { upkeepCommands } from "./upkeep-commands.ts";
import { watchCommands } from "./watch-commands.ts";

/** The definitions of all swarm commands, in the order of the help. */
export const commands: readonly Command[] = [
  ...below("START", startCommands),
  ...below("WATCH", watchCommands),
  ...below("REVIEW", reviewCommands),
  ...below("STEER", steerCommands),
  ...below("UPKEEP", upkeepCommands),
  ...below("SANDBOX", sandboxCommands),
  ...below("OTHER", [
    ...otherCommands,
    {
      name: "completion <shell>",
      description: "print a completion script for bash, zsh or fish",
      isQuiet: true,
      load: async () => (await import("../commands/other/completion.ts")).createCompletionCommand(commands),
    },
    {
      name: "version",
      description: "print the version",
      load: lazy(() => import("../commands/other/version.ts"), "versionCommand"),
    },
  ]),
  {
    name: "own <verb> [files...]",
    description: "the background process that `swarm start -d` starts",
    hidden: true,
    options: [
      ...startRequestFlags,
      ...unattendedFlags,
      ["--swarm-id <id>", ""],
      ["--planned <file=sha256>", "", "many"],
      ...ownerFlags,
      ...deprecatedStartFlags,
    ],
    load: lazy(() => import("../commands/start/start.ts"), "backgroundOwnerCommand"),
  },
  // The commands' former names, from before `swarm state` existed.
  ...stateCommands
    .filter(({ name }) => !/^(check|repair)/.test(name))
    .map((command) => ({ ...command, name: `swarm-${command.name}`, hidden: true })),
];

/** Puts commands below a heading of the help. */
function below(group: CommandGroup, members: readonly Command[]): readonly Command[] {
  return members.map((command) => ({ ...command, group }));
}
