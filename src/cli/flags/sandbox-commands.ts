import type { Command } from "./command.ts";
import { engineFlag, settingsFromFlags } from "./setting-flags.ts";

const sandboxFlag = [
  "--sandbox <id>",
  "the sandbox's id, name or container; the default is the latest sandbox",
] as const;

/** The definitions of the subcommands of `swarm sandbox`. */
export const sandboxCommands: readonly Command[] = [
  {
    name: "up",
    description: "create a sandbox; its first use starts the container and the time to live",
    options: [
      ["--spec <file>", "the sandbox's specification file; the default is sandbox.yaml, if that file exists"],
      ["--dangerous-allow-host-network", "allow the spec to give the sandbox the host's network"],
      ["--dangerous-allow-privileged", "allow the spec to remove the sandbox's protection"],
      ["--no-auto-destroy", "no time to live: the sandbox exists until `swarm sandbox destroy`"],
      ["--isolation <level>", "the minimum isolation of the sandbox: auto, shared-kernel, userns or strong"],
      engineFlag,
    ],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/sandbox.ts")).sandboxUpCommand,
  },
  {
    name: "run <file>",
    description:
      "run a script in a sandbox with the interpreter of the sandbox's runtime, and copy its /outputs to this machine",
    options: [sandboxFlag],
    load: async () => (await import("../commands/sandbox.ts")).sandboxRunCommand,
  },
  {
    name: "exec [command...]",
    description: "run a command in a sandbox, for example: exec ls -la",
    forwardsArguments: true,
    options: [sandboxFlag, ["-i, --interactive", "pass standard input to the command"]],
    load: async () => (await import("../commands/sandbox.ts")).sandboxExecCommand,
  },
  {
    name: "cp <from> <to>",
    description: "copy a file or folder; a path in a sandbox is id:/path, or :/path for the latest sandbox",
    load: async () => (await import("../commands/sandbox.ts")).sandboxCpCommand,
  },
  {
    name: "logs [sandbox]",
    description: "show the output of the sandbox's last task, in the order in which the task wrote it",
    options: [
      ["-f, --follow", "follow the output until the task ends"],
      ["--stdout", "show only this output stream"],
      ["--stderr", "show only this output stream"],
    ],
    load: async () => (await import("../commands/sandbox.ts")).sandboxLogsCommand,
  },
  {
    name: "ls",
    description: "list the sandboxes of this folder",
    options: [["--all", "also list destroyed sandboxes"]],
    load: async () => (await import("../commands/sandbox.ts")).sandboxLsCommand,
  },
  {
    name: "stats [sandbox]",
    description: "show the sandbox's current use of CPU, memory, disk and network",
    load: async () => (await import("../commands/sandbox.ts")).sandboxStatsCommand,
  },
  {
    name: "destroy [sandbox]",
    description: "end and remove a sandbox; its outputs on this machine are kept",
    options: [
      ["--all", "destroy all sandboxes of this folder"],
      ["--purge", "also remove the outputs of the sandbox"],
    ],
    load: async () => (await import("../commands/sandbox.ts")).sandboxDestroyCommand,
  },
];

const imageFlags = [
  [
    "--agents <list>",
    "agents to install in the base image, separated by commas: claude, codex, gemini, opencode, claude-acp, codex-acp, or none; the default is the agents of the present image",
  ],
  ["--ignore-scripts", "install dependencies without running their scripts"],
  ["--no-build-network", "build the project's image without network"],
] as const;

/** The definitions of the subcommands of `swarm image`. */
export const imageCommands: readonly Command[] = [
  {
    name: "build",
    description: "build the base image and this repository's image, if their inputs have changed",
    options: [
      ["--base", "build only the base image"],
      ["--fresh", "build without the cache, with the newest packages"],
      ...imageFlags,
      engineFlag,
    ],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/image.ts")).imageBuildCommand,
  },
  {
    name: "ls",
    description: "list swarm's images",
    options: [engineFlag],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/image.ts")).imageLsCommand,
  },
  {
    name: "prune",
    description: "remove swarm's images that are no longer needed; images in use are kept",
    options: [
      ["--all", "remove all images of swarm that no container uses, including images of other projects"],
      ["--dry-run", "only list the images that would be removed"],
      engineFlag,
    ],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/image.ts")).imagePruneCommand,
  },
  {
    name: "explain",
    description: "show the inputs of the images, and which inputs have changed since the last build",
    options: [...imageFlags, engineFlag],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/image.ts")).imageExplainCommand,
  },
];
