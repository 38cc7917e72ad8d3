import type { SettingsFile } from "../domain/settings.ts";
import type { Command, CommandOptions } from "./command.ts";

const settingFlags = [
  ["--agent <kind>", "the coding agent of tasks that name none: claude, acp, command, script"],
  ["--parallel <n>", "workers at once, or auto"],
  ["--isolation <level>", "the least isolation that is accepted: auto, shared-kernel, userns, strong"],
] as const;

const engineFlag = [
  "--engine <endpoint>",
  "the container engine to use, for example unix:///var/run/docker.sock",
] as const;

const stateCommands: readonly Command[] = [
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
    description: "compare the state with the engine and name what does not agree",
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

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  {
    name: "init",
    group: "START",
    description: "write settings, an example task file and ignore rules into this repository",
    load: async () => (await import("./commands/init.ts")).init,
  },
  {
    name: "doctor",
    group: "START",
    description: "check everything that a swarm needs, and say how to mend what is missing",
    options: [
      ["--fix", "mend what can be mended: start the private engine if none answers"],
      ["--yes", "install Debian packages without asking"],
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    name: "plan [files...]",
    group: "START",
    description: "show what would run, in which order and why; changes nothing",
    options: [
      ["--all", "every task file, as without names"],
      ["--again", "also what was completed or failed before with the same content"],
      ["--strict", "refuse text that reads as if it wanted to steer the agent"],
      ...settingFlags,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/plan.ts")).plan,
  },
  {
    name: "status",
    group: "WATCH",
    description: "show the swarm of this worktree",
    load: async () => (await import("./commands/status.ts")).status,
  },
  {
    name: "state",
    group: "UPKEEP",
    description: "read and change the state file, one locked step at a time",
    commands: stateCommands,
  },
  {
    name: "engine",
    group: "UPKEEP",
    description: "a private container engine beside any other one",
    commands: [
      {
        name: "start",
        description: "start it; on Debian and Ubuntu, as root, install what is missing",
        options: [
          ["--yes", "install Debian packages without asking"],
          ["--reset", "move its data aside and start with nothing"],
        ],
        load: async () => (await import("./commands/engine.ts")).start,
      },
      {
        name: "stop",
        description: "stop it and its containers, and take its network away",
        load: async () => (await import("./commands/engine.ts")).stop,
      },
      {
        name: "status",
        description: "say whether it runs and where",
        load: async () => (await import("./commands/engine.ts")).status,
      },
    ],
  },
  {
    name: "trust",
    group: "UPKEEP",
    description: "let this project's files ask for more than anybody's repository may",
    options: [["--yes", "trust without asking"]],
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  {
    name: "config",
    group: "OTHER",
    description: "settings",
    commands: [
      {
        name: "explain",
        description: "show each setting and where it comes from",
        options: settingFlags,
        settings: flagSettings,
        load: async () => (await import("./commands/config.ts")).explain,
      },
    ],
  },
  {
    name: "completion <shell>",
    group: "OTHER",
    description: "print a completion script for bash, zsh or fish",
    load: async () => (await import("./commands/completion.ts")).completionOf(commands),
  },
  {
    name: "version",
    group: "OTHER",
    description: "print the version",
    load: async () => (await import("./commands/version.ts")).showVersion,
  },
  // As it was typed before there was `swarm state`.
  ...stateCommands
    .filter(({ name }) => !/^(check|repair)/.test(name))
    .map((command) => ({ ...command, name: `swarm-${command.name}`, hidden: true })),
];

function flagSettings({ agent, parallel, isolation, engine }: CommandOptions): SettingsFile {
  const flags: Record<string, unknown> = { agent, isolation, engine, parallel: toCount(parallel) };
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

/** A number where it is one; else as typed, for the check to name. */
function toCount(text: CommandOptions[string]): unknown {
  return typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text;
}
