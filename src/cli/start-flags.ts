import type { Flag } from "./command.ts";
import { engineFlag, failureFlags, oldStartFlags, settingFlags } from "./setting-flags.ts";

export const forceFlag: Flag = ["--force", "archive a swarm that is not finished, and begin anew"];
export const detachFlag: Flag = [
  "-d, --detach",
  "go on in the background, after this terminal is closed, too",
];

/** The flags of all commands that can make this process the owner of a swarm. */
export const ownerFlags: readonly Flag[] = [...failureFlags, ...settingFlags, engineFlag];

export const nightFlags: readonly Flag[] = [
  [
    "--until <time>",
    "stop at this time of day (07:00) or after this duration (6h): start no worker, and give agents time to end their turn",
  ],
  ["--then <what>", "when all workers have ended: merge"],
  [
    "--notify <command>",
    "when all workers have ended, or one needs you: a command that gets it as JSON, webhook:URL or desktop",
  ],
];

export const againFlag: Flag = [
  "--again",
  "also task files that completed or failed before with the same content",
];
export const strictFlag: Flag = ["--strict", "refuse text that looks like an attempt to steer the agent"];

export const startFlags: readonly Flag[] = [
  ["--all", "every task file"],
  againFlag,
  strictFlag,
  ["--append", "beside a swarm that runs: leave the task files to its owner"],
  forceFlag,
];

/** All flags of `swarm start`. */
export const startOptions: readonly Flag[] = [
  ...startFlags,
  ...nightFlags,
  detachFlag,
  ...ownerFlags,
  ...oldStartFlags,
];
