import type { Command } from "./command.ts";
import { engineFlag, flagSettings } from "./setting-flags.ts";

export const stateCommands: readonly Command[] = [
  {
    name: "init",
    description: "start the state of a swarm in this worktree",
    options: [["--force", "archive the state that is there and start anew"]],
    load: async () => (await import("./commands/state.ts")).init,
  },
  {
    name: "add <containerId> <name> <taskFile> <branch>",
    description: "add a pending container; `-` as its id until it is created",
    load: async () => (await import("./commands/state.ts")).add,
  },
  {
    name: "update <name>",
    description: "change a container's record",
    options: [
      [
        "--status <status>",
        "pending, running, completed, failed or stopped, as far as its status now allows",
      ],
      ["--pr-url <url>", "the pull request of its branch, or null"],
      ["--story-progress <json>", "counts: total, completed, failed, inProgress, pending, skipped"],
      ["--acp-pid <pid>", "the process attached to it, or null"],
      ["--container-id <id>", "the engine's id of it"],
    ],
    load: async () => (await import("./commands/state.ts")).update,
  },
  {
    name: "remove <name>",
    description: "drop a container's record",
    load: async () => (await import("./commands/state.ts")).remove,
  },
  {
    name: "status",
    description: "print the state as JSON",
    load: async () => (await import("./commands/state.ts")).status,
  },
  {
    name: "list",
    description: "print each container's name and status",
    load: async () => (await import("./commands/state.ts")).list,
  },
  {
    name: "cleanup",
    description: "drop the records of containers that have ended",
    load: async () => (await import("./commands/state.ts")).cleanup,
  },
  {
    name: "check",
    description: "compare the state with the engine and list the differences",
    options: [engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/state.ts")).check,
  },
  {
    name: "repair",
    description: "rebuild the state from containers and journals; the broken file is kept",
    options: [
      ["--moved", "this project was moved here"],
      ["--copied", "this project is a copy and needs an identity of its own"],
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/state.ts")).repair,
  },
];
