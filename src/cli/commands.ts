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

const sandboxFlag = ["--sandbox <id>", "its id, name or container; without it the latest one"] as const;

const sandboxCommands: readonly Command[] = [
  {
    name: "up",
    description: "make a sandbox; the first use starts it, and its time to live",
    options: [
      ["--spec <file>", "what it is made of; sandbox.yaml is taken when it is there"],
      ["--dangerous-allow-host-network", "let the spec give it the host's network"],
      ["--dangerous-allow-privileged", "let the spec take its protection away"],
      ["--no-auto-destroy", "no time to live: it stays until `swarm sandbox destroy`"],
      ["--isolation <level>", "the least isolation that is accepted: auto, shared-kernel, userns, strong"],
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/sandbox.ts")).up,
  },
  {
    name: "run <file>",
    description: "run a task file by its runtime's interpreter, and bring out what it writes to /outputs",
    options: [sandboxFlag],
    load: async () => (await import("./commands/sandbox.ts")).run,
  },
  {
    name: "exec [command...]",
    description: "run a command: exec ls -la",
    passesWordsOn: true,
    options: [sandboxFlag, ["-i, --interactive", "pass the standard input on"]],
    load: async () => (await import("./commands/sandbox.ts")).exec,
  },
  {
    name: "cp <from> <to>",
    description: "copy a file or folder; a path in a sandbox is id:/path, or :/path for the latest one",
    load: async () => (await import("./commands/sandbox.ts")).cp,
  },
  {
    name: "logs [sandbox]",
    description: "what the last task wrote, in the order in which it came",
    options: [
      ["-f, --follow", "until the task ends"],
      ["--stdout", "only this stream"],
      ["--stderr", "only this stream"],
    ],
    load: async () => (await import("./commands/sandbox.ts")).logs,
  },
  {
    name: "ls",
    description: "the sandboxes of this folder",
    options: [["--all", "also destroyed ones"]],
    load: async () => (await import("./commands/sandbox.ts")).ls,
  },
  {
    name: "stats [sandbox]",
    description: "what it uses now",
    load: async () => (await import("./commands/sandbox.ts")).stats,
  },
  {
    name: "destroy [sandbox]",
    description: "end and remove it; its outputs stay",
    options: [
      ["--all", "every sandbox of this folder"],
      ["--purge", "its outputs too"],
    ],
    load: async () => (await import("./commands/sandbox.ts")).destroy,
  },
];

const imageFlags = [
  [
    "--agents <list>",
    "agents in the base image, by commas: claude, codex, gemini, opencode, claude-acp, codex-acp; or none (without this flag: those it has)",
  ],
  ["--ignore-scripts", "install dependencies without running their scripts"],
  ["--no-build-network", "no network for the steps of the project's image"],
] as const;

const imageCommands: readonly Command[] = [
  {
    name: "build",
    description: "build the base image and this repository's, as far as something changed",
    options: [
      ["--base", "only the base image"],
      ["--fresh", "build anew, with the newest packages"],
      ...imageFlags,
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).build,
  },
  {
    name: "ls",
    description: "the images that are there",
    options: [engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).ls,
  },
  {
    name: "prune",
    description: "remove images that are no longer needed; those in use stay",
    options: [
      ["--all", "every image of swarm, of other projects too"],
      ["--dry-run", "only say which"],
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).prune,
  },
  {
    name: "explain",
    description: "what goes into the images, and what changed since the last build",
    options: [...imageFlags, engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).explain,
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
    name: "start [files...]",
    group: "START",
    description: "carry out task files, each in a sealed sandbox without a network, up to branches",
    options: [
      ["--all", "every task file"],
      ["--again", "also what was completed or failed before with the same content"],
      ["--strict", "refuse text that reads as if it wanted to steer the agent"],
      ...settingFlags,
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).start,
  },
  {
    name: "resume",
    group: "START",
    description: "go on with the workers of this swarm that have not come to their end",
    options: [...settingFlags, engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).resume,
  },
  {
    name: "status",
    group: "WATCH",
    description: "show the swarm of this worktree",
    load: async () => (await import("./commands/status.ts")).status,
  },
  {
    name: "image",
    group: "UPKEEP",
    description: "the images of sandboxes",
    commands: imageCommands,
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
    name: "sandbox",
    group: "SANDBOX",
    description: "single sandboxes: run a file or a command in a sealed container",
    commands: sandboxCommands,
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
