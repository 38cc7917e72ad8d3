import type { Flag } from "./command.ts";
import { deprecatedStartFlags, engineFlag, failureHandlingFlags, settingFlags } from "./setting-flags.ts";

export const forceFlag: Flag = ["--force", "archive an unfinished swarm, and start a new one"];
export const detachFlag: Flag = ["-d, --detach", "run in the background, even after this terminal is closed"];

/** The flags shared by all commands that can make this process the owner of a swarm. */
export const ownerFlags: readonly Flag[] = [...failureHandlingFlags, ...settingFlags, engineFlag];

export const unattendedFlags: readonly Flag[] = [
  [
    "--until <time>",
    "stop at this time of day (07:00) or after this duration (6h): start no more workers, and give agents time to end their turn",
  ],
  ["--then <what>", "what to do when all workers have ended: merge"],
  [
    "--notify <command>",
    "how to notify you when all workers have ended or a worker needs your attention: desktop, webhook:URL, or a command that receives JSON",
  ],
];

export const againFlag: Flag = [
  "--again",
  "also carry out task files that completed or failed before with the same content",
];
export const strictFlag: Flag = ["--strict", "refuse task files whose text looks like a prompt injection"];

export const startRequestFlags: readonly Flag[] = [
  ["--all", "carry out all task files"],
  againFlag,
  strictFlag,
  ["--append", "if a swarm is running: add the task files to that swarm"],
  forceFlag,
];

/** All flags of `swarm start`. */
export const startCommandFlags: readonly Flag[] = [
  ...startRequestFlags,
  ...unattendedFlags,
  detachFlag,
  ...ownerFlags,
  ...deprecatedStartFlags,
];
