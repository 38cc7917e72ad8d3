import { type Command, lazy } from "./command.ts";
import { engineFlag } from "./setting-flags.ts";
import { stateCommands } from "./state-commands.ts";

const scheduleModule = () => import("../commands/upkeep/schedule.ts");
const imageModule = () => import("../commands/upkeep/image.ts");
const engineModule = () => import("../commands/upkeep/engine.ts");

const imageFlags = [
  [
    "--agents <list>",
    "agents to install in the base image, separated by commas: claude, codex, gemini, opencode, claude-acp, codex-acp, or none; the default is the agents of the present image",
  ],
  ["--ignore-scripts", "install dependencies without running their scripts"],
  ["--no-build-network", "build the project's image without network"],
] as const;

export const upkeepCommands: readonly Command[] = [
  {
    name: "cleanup [workers...]",
    description: "remove the containers, volumes and networks of workers whose work is in the repository",
    options: [
      ["--all", "also remove the files of archived swarms: journals, requests, old states"],
      [
        "--discard",
        "also remove containers and volumes that hold the only copy of work; that work is then lost",
      ],
      ["--everything", "also remove this project's images, the private engine and swarm's own state folder"],
      ["--dry-run", "only show what would be removed and what would be kept, and why"],
      ["--yes", "with --everything: do not ask for confirmation"],
    ],
    load: lazy(() => import("../commands/upkeep/cleanup.ts"), "cleanupCommand"),
  },
  {
    name: "image",
    description: "build and inspect the images of sandboxes",
    commands: [
      {
        name: "build",
        description: "build the base image and this repository's image, if their inputs have changed",
        options: [
          ["--base", "build only the base image"],
          ["--fresh", "build without the cache, with the newest packages"],
          ...imageFlags,
          engineFlag,
        ],
        load: lazy(imageModule, "imageBuildCommand"),
      },
      {
        name: "ls",
        description: "list swarm's images",
        options: [engineFlag],
        load: lazy(imageModule, "imageLsCommand"),
      },
      {
        name: "prune",
        description: "remove swarm's images that are no longer needed; images in use are kept",
        options: [
          ["--all", "remove all images of swarm that no container uses, including images of other projects"],
          ["--dry-run", "only list the images that would be removed"],
          engineFlag,
        ],
        load: lazy(imageModule, "imagePruneCommand"),
      },
      {
        name: "explain",
        description: "show the inputs of the images, and which inputs have changed since the last build",
        options: [...imageFlags, engineFlag],
        load: lazy(imageModule, "imageExplainCommand"),
      },
    ],
  },
  {
    name: "state",
    description: "read and change the state file under its lock",
    commands: stateCommands,
  },
  {
    name: "engine",
    description: "run a private container engine, separate from the machine's other engines",
    commands: [
      {
        name: "start",
        description: "start the private engine; on Debian and Ubuntu, as root, install missing packages",
        options: [
          ["--yes", "install missing Debian packages without asking"],
          ["--reset", "move the engine's data aside and start with an empty engine"],
        ],
        load: lazy(engineModule, "engineStartCommand"),
      },
      {
        name: "stop",
        description: "stop the private engine and its containers, and remove its network",
        load: lazy(engineModule, "engineStopCommand"),
      },
      {
        name: "status",
        description: "show the private engine's endpoint, and whether the engine runs",
        load: lazy(engineModule, "engineStatusCommand"),
      },
    ],
  },
  {
    name: "schedule",
    description: "schedule swarms in your crontab, for example every night",
    commands: [
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
        load: lazy(scheduleModule, "scheduleInstallCommand"),
      },
      {
        name: "list",
        description: "list the scheduled swarms",
        load: lazy(scheduleModule, "scheduleListCommand"),
      },
      {
        name: "remove",
        description: "remove this project's line from your crontab",
        load: lazy(scheduleModule, "scheduleRemoveCommand"),
      },
    ],
  },
  {
    name: "trust",
    description: "allow this project's files to use settings that an untrusted repository may not use",
    options: [["--yes", "do not ask for confirmation"]],
    load: lazy(() => import("../commands/upkeep/trust.ts"), "trustCommand"),
  },
];
