import { type Command, lazy } from "./command.ts";
import { engineFlag } from "./setting-flags.ts";

const stateModule = () => import("../commands/upkeep/state.ts");

export const stateCommands: readonly Command[] = [
  {
    name: "init",
    description: "create the state file of a new swarm in this worktree",
    options: [["--force", "archive the existing state and start with an empty one"]],
    load: lazy(stateModule, "stateInitCommand"),
  },
  {
    name: "add <containerId> <name> <taskFile> <branch>",
    description: "add the record of a pending container; containerId is `-` until the container is created",
    load: lazy(stateModule, "stateAddCommand"),
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
    load: lazy(stateModule, "stateUpdateCommand"),
  },
  {
    name: "remove <name>",
    description: "remove a container's record",
    load: lazy(stateModule, "stateRemoveCommand"),
  },
  {
    name: "status",
    description: "print the state as JSON",
    load: lazy(stateModule, "stateStatusCommand"),
  },
  {
    name: "list",
    description: "print each container's name and status",
    load: lazy(stateModule, "stateListCommand"),
  },
  {
    name: "cleanup",
    description: "remove the records of containers that have ended",
    load: lazy(stateModule, "stateCleanupCommand"),
  },
  {
    name: "check",
    description: "compare the state with the engine and list the differences",
    options: [engineFlag],
    load: lazy(stateModule, "stateCheckCommand"),
  },
  {
    name: "repair",
    description: "rebuild the state from containers and journals; the invalid state file is kept",
    options: [
      ["--moved", "the project's folder was moved to this path"],
      ["--copied", "this folder is a copy of the project and needs its own identity"],
      engineFlag,
    ],
    load: lazy(stateModule, "stateRepairCommand"),
  },
];
