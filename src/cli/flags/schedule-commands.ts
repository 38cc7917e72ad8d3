import type { Command } from "./command.ts";

/** The definitions of the subcommands of `swarm schedule`. */
export const scheduleCommands: readonly Command[] = [
  {
    name: "install [words...]",
    description: "add this project's line to your crontab; flags for `swarm start` follow after --",
    options: [
      ["--at <time>", "the time of day at which the swarm starts, such as 23:00"],
      ["--days <days>", "the days on which the swarm starts, such as mon-fri (default: every day)"],
      [
        "--until <time>",
        "stop the swarm at a time of day (07:00) or after a duration (6h); agents may end their turn",
      ],
      ["--no-merge", "do not merge the results"],
      ["--notify <command>", "how to notify you, as with `swarm start --notify`"],
      ["--yes", "write the crontab line without asking"],
    ],
    load: async () => (await import("../commands/schedule.ts")).scheduleInstallCommand,
  },
  {
    name: "list",
    description: "list the scheduled swarms",
    load: async () => (await import("../commands/schedule.ts")).scheduleListCommand,
  },
  {
    name: "remove",
    description: "remove this project's line from your crontab",
    load: async () => (await import("../commands/schedule.ts")).scheduleRemoveCommand,
  },
];
