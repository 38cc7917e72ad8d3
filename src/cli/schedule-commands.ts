import type { Command } from "./command.ts";

/** The definitions of the commands below `swarm schedule`. */
export const scheduleCommands: readonly Command[] = [
  {
    name: "install [words...]",
    description: "write this project's crontab line; flags for `swarm start` follow after --",
    options: [
      ["--at <time>", "when it begins, such as 23:00"],
      ["--days <days>", "on which days, such as mon-fri (default: every)"],
      ["--until <time>", "begin nothing after 07:00, or 6h, and let agents end their turn then"],
      ["--no-merge", "leave the branches as they are"],
      ["--notify <command>", "as of start"],
      ["--yes", "write it without asking"],
    ],
    load: async () => (await import("./commands/schedule.ts")).install,
  },
  {
    name: "list",
    description: "list the scheduled swarms",
    load: async () => (await import("./commands/schedule.ts")).list,
  },
  {
    name: "remove",
    description: "remove the line of this project",
    load: async () => (await import("./commands/schedule.ts")).remove,
  },
];
