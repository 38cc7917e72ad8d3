import type { Command } from "./command.ts";
import { engineFlag, settingsFromFlags } from "./setting-flags.ts";

export const stateCommands: readonly Command[] = [
  {
    name: "init",
    description: "create the state file of a new swarm in this worktree",
    options: [["--force", "archive the existing state and start with an empty one"]],
    load: async () => (await import("../commands/state.ts")).stateInitCommand,
  },
  {
    name: "add <containerId> <name> <taskFile> <branch>",
    description: "add the record of a pending container; containerId is `-` until the container is created",
    load: async () => (await import("../commands/state.ts")).stateAddCommand,
  },
  {
    name: "update <name>",
    description: "change the record of a container",
    options: [
      [
        "--status <status>",
        "pending, running, completed, failed or stopped; only transitions that the current status allows",
      ],
      ["--pr-url <url>", "the URL of the pull request of the container's branch, or null"],
      [
        "--story-progress <json>",
        "counts of stories: total, completed, failed, inProgress, pending, skipped",
      ],
      ["--acp-pid <pid>", "the id of the process that is attached to the container, or null"],
      ["--container-id <id>", "the engine's id of the container"],
    ],
    load: async () => (await import("../commands/state.ts")).stateUpdateCommand,
  },
  {
    name: "remove <name>",
    description: "remove a container's record",
    load: async () => (await import("../commands/state.ts")).stateRemoveCommand,
  },
  {
    name: "status",
    description: "print the state as JSON",
    load: async () => (await import("../commands/state.ts")).stateStatusCommand,
  },
  {
    name: "list",
    description: "print each container's name and status",
    load: async () => (await import("../commands/state.ts")).stateListCommand,
  },
  {
    name: "cleanup",
    description: "remove the records of containers that have ended",
    load: async () => (await import("../commands/state.ts")).stateCleanupCommand,
  },
  {
    name: "check",
    description: "compare the state with the engine and list the differences",
    options: [engineFlag],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/state.ts")).stateCheckCommand,
  },
  {
    name: "repair",
    description: "rebuild the state from containers and journals; the invalid state file is kept",
    options: [
      ["--moved", "the project's folder was moved to this path"],
      ["--copied", "this folder is a copy of the project and needs its own identity"],
      engineFlag,
    ],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/state.ts")).stateRepairCommand,
  },
];
