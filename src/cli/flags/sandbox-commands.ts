import { type Command, lazy } from "./command.ts";
import { engineFlag } from "./setting-flags.ts";

const sandboxModule = () => import("../commands/sandbox.ts");

const sandboxFlag = [
  "--sandbox <id>",
  "the sandbox's id, name or container; the default is the latest sandbox",
] as const;

export const sandboxCommands: readonly Command[] = [
  {
    name: "sandbox",
    description: "run a file or a command in a single sealed container",
    commands: [
      {
        name: "up",
        description: "create a sandbox; its first use starts the container and the time to live",
        options: [
          [
            "--spec <file>",
            "the sandbox's specification file; the default is sandbox.yaml, if that file exists",
          ],
          ["--dangerous-allow-host-network", "allow the spec to give the sandbox the host's network"],
          ["--dangerous-allow-privileged", "allow the spec to remove the sandbox's protection"],
          ["--no-auto-destroy", "no time to live: the sandbox exists until `swarm sandbox destroy`"],
          [
            "--isolation <level>",
            "the minimum isolation of the sandbox: auto, shared-kernel, userns or strong",
          ],
          engineFlag,
        ],
        load: lazy(sandboxModule, "sandboxUpCommand"),
      },
      {
        name: "run <file>",
        description:
          "run a script in a sandbox with the interpreter of the sandbox's runtime, and copy its /outputs to this machine",
        options: [sandboxFlag],
        load: lazy(sandboxModule, "sandboxRunCommand"),
      },
      {
        name: "exec [command...]",
        description: "run a command in a sandbox, for example: exec ls -la",
        forwardsArguments: true,
        options: [sandboxFlag, ["-i, --interactive", "pass standard input to the command"]],
        load: lazy(sandboxModule, "sandboxExecCommand"),
      },
      {
        name: "cp <from> <to>",
        description:
          "copy a file or folder; a path in a sandbox is id:/path, or :/path for the latest sandbox",
        load: lazy(sandboxModule, "sandboxCpCommand"),
      },
      {
        name: "logs [sandbox]",
        description: "show the output of the sandbox's last task, in the order in which the task wrote it",
        options: [
          ["-f, --follow", "follow the output until the task ends"],
          ["--stdout", "show only this output stream"],
          ["--stderr", "show only this output stream"],
        ],
        load: lazy(sandboxModule, "sandboxLogsCommand"),
      },
      {
        name: "ls",
        description: "list the sandboxes of this folder",
        options: [["--all", "also list destroyed sandboxes"]],
        load: lazy(sandboxModule, "sandboxLsCommand"),
      },
      {
        name: "stats [sandbox]",
        description: "show the sandbox's current use of CPU, memory, disk and network",
        load: lazy(sandboxModule, "sandboxStatsCommand"),
      },
      {
        name: "destroy [sandbox]",
        description: "end and remove a sandbox; its outputs on this machine are kept",
        options: [
          ["--all", "destroy all sandboxes of this folder"],
          ["--purge", "also remove the outputs of the sandbox"],
        ],
        load: lazy(sandboxModule, "sandboxDestroyCommand"),
      },
    ],
  },
];
