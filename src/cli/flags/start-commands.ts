import { type Command, lazy } from "./command.ts";
import { engineFlag, settingFlags } from "./setting-flags.ts";
import {
  againFlag,
  detachFlag,
  forceFlag,
  ownerFlags,
  startCommandFlags,
  strictFlag,
  unattendedFlags,
} from "./start-flags.ts";

const startModule = () => import("../commands/start/start.ts");

export const startCommands: readonly Command[] = [
  {
    name: "init",
    description: "write settings, an example task file and .gitignore rules into this repository",
    load: lazy(() => import("../commands/start/init.ts"), "initCommand"),
  },
  {
    name: "doctor",
    description: "check everything that a swarm needs, and show how to fix each problem",
    options: [
      ["--fix", "fix what swarm can fix: start the private engine if no engine answers"],
      ["--yes", "install missing Debian packages without asking"],
      engineFlag,
    ],
    load: lazy(() => import("../commands/start/doctor.ts"), "doctorCommand"),
  },
  {
    name: "plan [files...]",
    description: "show which task files would run, in which order and why; changes nothing",
    options: [
      ["--all", "show all task files; the default without names"],
      againFlag,
      strictFlag,
      ...settingFlags,
    ],
    load: lazy(() => import("../commands/start/plan.ts"), "planCommand"),
  },
  {
    name: "start [files...]",
    description: "carry out task files, each in its own sealed sandbox; the results are verified branches",
    options: startCommandFlags,
    load: lazy(startModule, "startCommand"),
  },
  {
    name: "run <prompt...>",
    description: "write a task file from a prompt and carry it out; the result is a verified branch",
    options: [
      [
        "--verify <command>",
        "a command that the result must pass, repeatable; the default is the repository's own tests",
        "many",
      ],
      ["--no-verify", "run no check: accept the work when the agent reports that it is done"],
      [
        "--branch <name>",
        "the branch for the result; the default is swarm/ and the first words of the prompt",
      ],
      ["--append", "add the task to the running swarm"],
      forceFlag,
      detachFlag,
      ...ownerFlags,
    ],
    load: lazy(() => import("../commands/start/run.ts"), "swarmRunCommand"),
  },
  {
    name: "resume",
    description: "continue the workers of this swarm that have neither completed nor failed",
    options: [...unattendedFlags, detachFlag, ...ownerFlags],
    load: lazy(startModule, "resumeCommand"),
  },
  {
    name: "retry <workers...>",
    description:
      "retry failed or stopped workers from their last good commit; @failed selects all failed workers",
    options: [
      [
        "--onto <branch>",
        "merge each result with this branch, and let the agent continue from the merge commit; `integration` stands for the branch of `swarm merge`",
      ],
      ...ownerFlags,
    ],
    load: lazy(startModule, "retryCommand"),
  },
];
