import type { Command } from "./command.ts";
import { engineFlag, flagSettings } from "./setting-flags.ts";

const sandboxFlag = ["--sandbox <id>", "its id, name or container; without it the latest one"] as const;

/** The definitions of the commands below `swarm sandbox`. */
export const sandboxCommands: readonly Command[] = [
  {
    name: "up",
    description: "make a sandbox; the first use starts it, and its time to live",
    options: [
      ["--spec <file>", "its specification; without it sandbox.yaml, if there is one"],
      ["--dangerous-allow-host-network", "let the spec give it the host's network"],
      ["--dangerous-allow-privileged", "let the spec remove its protection"],
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
    options: [sandboxFlag, ["-i, --interactive", "pass on standard input"]],
    load: async () => (await import("./commands/sandbox.ts")).exec,
  },
  {
    name: "cp <from> <to>",
    description: "copy a file or folder; a path in a sandbox is id:/path, or :/path for the latest one",
    load: async () => (await import("./commands/sandbox.ts")).cp,
  },
  {
    name: "logs [sandbox]",
    description: "show the output of the last task, in order",
    options: [
      ["-f, --follow", "until the task ends"],
      ["--stdout", "only this stream"],
      ["--stderr", "only this stream"],
    ],
    load: async () => (await import("./commands/sandbox.ts")).logs,
  },
  {
    name: "ls",
    description: "list the sandboxes of this folder",
    options: [["--all", "also destroyed ones"]],
    load: async () => (await import("./commands/sandbox.ts")).ls,
  },
  {
    name: "stats [sandbox]",
    description: "show its current use of resources",
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

/** The definitions of the commands below `swarm image`. */
export const imageCommands: readonly Command[] = [
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
    description: "list the images",
    options: [engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).ls,
  },
  {
    name: "prune",
    description: "remove images that are no longer needed; those in use stay",
    options: [
      ["--all", "every image of swarm, of other projects too"],
      ["--dry-run", "only list them"],
      engineFlag,
    ],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).prune,
  },
  {
    name: "explain",
    description: "show the inputs of the images, and their changes since the last build",
    options: [...imageFlags, engineFlag],
    settings: flagSettings,
    load: async () => (await import("./commands/image.ts")).explain,
  },
];
