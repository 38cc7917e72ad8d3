import type { Command } from "./command.ts";
import { imageCommands, sandboxCommands } from "./sandbox-commands.ts";
import { scheduleCommands } from "./schedule-commands.ts";
import { engineFlag, flagSettings, oldStartFlags, settingFlags } from "./setting-flags.ts";
import {
  againFlag,
  detachFlag,
  forceFlag,
  nightFlags,
  ownerFlags,
  startFlags,
  startOptions,
  strictFlag,
} from "./start-flags.ts";
import { stateCommands } from "./state-commands.ts";

/** The definitions of all commands, in the order of the help. */
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
    options: [["--all", "every task file, as without names"], againFlag, strictFlag, ...settingFlags],
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/plan.ts")).plan,
  },
  {
    name: "start [files...]",
    group: "START",
    description: "carry out task files, each in a sealed sandbox, up to verified branches",
    options: startOptions,
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).start,
  },
  {
    name: "run <prompt...>",
    group: "START",
    description: "write a task file for one piece of work and carry it out, up to a verified branch",
    options: [
      [
        "--verify <command>",
        "the check that it must pass, any number of them; without it the repository's own tests",
        "many",
      ],
      ["--no-verify", "no check: the agent's word is enough"],
      ["--branch <name>", "where the work goes; without it swarm/ and the first words"],
      ["--append", "add the task to the running swarm"],
      forceFlag,
      detachFlag,
      ...ownerFlags,
    ],
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    name: "resume",
    group: "START",
    description: "go on with the workers of this swarm that have not come to their end",
    options: [...nightFlags, detachFlag, ...ownerFlags],
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).resume,
  },
  {
    name: "retry <workers...>",
    group: "START",
    description: "try failed or stopped workers again, from their last good commit; @failed for all of them",
    options: [
      [
        "--onto <branch>",
        "merge each result with this branch, and let its agent continue from there; `integration` names the branch of `swarm merge`",
      ],
      ...ownerFlags,
    ],
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).retry,
  },
  {
    name: "status",
    group: "WATCH",
    description: "show the swarm of this worktree, compared with its engine",
    options: [
      ["-w, --watch", "show it again whenever it changes, until every worker has ended"],
      ["--exit-status", "exit 0 completed, 5 some failed, 7 ended by limits, 8 not finished, 3 not compared"],
    ],
    load: async () => (await import("./commands/status.ts")).status,
  },
  {
    name: "logs <worker>",
    group: "WATCH",
    description: "show a worker's log, story by story, with its checks; also when its container is gone",
    options: [
      ["-f, --follow", "go on until it has ended, through further attempts"],
      ["--story <id>", "only this story"],
      ["--attempt <n>", "only this attempt"],
    ],
    load: async () => (await import("./commands/logs.ts")).logs,
  },
  {
    name: "events",
    group: "WATCH",
    description:
      "show the owner's decisions and actions with reasons; with --json as stored, a line for each",
    options: [
      ["-f, --follow", "also show new events as they come"],
      ["--worker <worker>", "only of this one"],
      ["--kind <kind>", "only the agents' network access: `model` for calls, `egress` for other hosts"],
      ["--swarm <id>", "of an earlier swarm: its id or the beginning of it, or all"],
    ],
    load: async () => (await import("./commands/events.ts")).events,
  },
  {
    name: "attach <worker>",
    group: "WATCH",
    description: "watch a running worker from inside its sandbox; Ctrl-C leaves it as it is",
    load: async () => (await import("./commands/attach.ts")).attach,
  },
  {
    name: "wait [workers...]",
    group: "WATCH",
    description: "wait until workers, or all of them, have ended; the exit code says how",
    options: [["--timeout <time>", "at most so long, for example 30m"]],
    load: async () => (await import("./commands/wait.ts")).wait,
  },
  {
    name: "stop [workers...]",
    group: "STEER",
    description: "end workers, or all of them, so that they can go on later; their work is kept",
    load: async () => (await import("./commands/steer.ts")).stop,
  },
  {
    name: "pause [workers...]",
    group: "STEER",
    description: "halt workers where they are",
    load: async () => (await import("./commands/steer.ts")).pause,
  },
  {
    name: "unpause [workers...]",
    group: "STEER",
    description: "let paused workers go on",
    load: async () => (await import("./commands/steer.ts")).unpause,
  },
  {
    name: "shell <worker> [command...]",
    group: "STEER",
    description: "open a shell in a running worker's sandbox as the agent's user: shell login -- git status",
    passesWordsOn: true,
    load: async () => (await import("./commands/shell.ts")).shell,
  },
  {
    name: "diff <worker>",
    group: "REVIEW",
    description: "show a worker's changes, as imported into this repository",
    options: [["--stat", "only the changed files with line counts"]],
    load: async () => (await import("./commands/diff.ts")).diff,
  },
  {
    name: "summary",
    group: "REVIEW",
    description: "summarise every worker's work, cost, failures and reasons, and the next steps",
    options: [
      ["--markdown", "as a page"],
      ["--html", "as a page for a browser, with a timeline of the workers"],
    ],
    load: async () => (await import("./commands/summary.ts")).summary,
  },
  {
    name: "merge [workers...]",
    group: "REVIEW",
    description: "bring results together on one branch, each checked in a fresh sandbox",
    options: [
      ["--into <branch>", "the target branch; without it, one of the swarm's own"],
      ["--check <command>", "the check that each merge must pass; without it, the repository's own tests"],
      ["--no-check", "merge all results that can be merged, and check nothing"],
    ],
    load: async () => (await import("./commands/merge.ts")).merge,
  },
  {
    name: "cleanup [workers...]",
    group: "UPKEEP",
    description: "remove the leftovers on the engine of workers whose work is in the repository",
    options: [
      ["--all", "also the files of archived swarms: journals, requests, old states"],
      ["--discard", "also those that hold the only copy of work, which is then lost"],
      ["--everything", "also this project's images, the private engine and swarm's own state folder"],
      ["--dry-run", "only show what would be removed and what kept, and why"],
      ["--yes", "with --everything: without asking"],
    ],
    load: async () => (await import("./commands/cleanup.ts")).cleanup,
  },
  {
    name: "image",
    group: "UPKEEP",
    description: "build and inspect the images of sandboxes",
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
    description: "run a private container engine beside any other one",
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
        description: "stop it and its containers, and remove its network",
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
    name: "schedule",
    group: "UPKEEP",
    description: "start swarms by your crontab, for example every night",
    commands: scheduleCommands,
  },
  {
    name: "trust",
    group: "UPKEEP",
    description: "let this project's files ask for more than an untrusted repository may",
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
    name: "hook <event>",
    group: "OTHER",
    description: "answer Claude Code's hooks: pre-tool-use, session-start, post-tool-use",
    options: [
      ["--plugin <folder>", "the plugin's folder, as Claude Code calls it"],
      ["--explain", "with pre-tool-use: the decision about a call and its reason, as text"],
    ],
    isQuiet: true,
    load: async () => (await import("./commands/hook.ts")).hook,
  },
  {
    name: "statusline",
    group: "OTHER",
    description: "print a line for Claude Code's status line, from the state file; empty without a swarm",
    options: [["--wrap <command>", "another status line's command, whose output comes first"]],
    load: async () => (await import("./commands/statusline.ts")).statusline,
  },
  {
    name: "plugin",
    group: "OTHER",
    description: "install the plugin for Claude Code: slash commands, hooks and a skill",
    commands: [
      {
        name: "install",
        description: "install it into the claude on the PATH",
        load: async () => (await import("./commands/plugin.ts")).install,
      },
      {
        name: "validate",
        description: "let Claude Code check it, and replay calls through its hook",
        load: async () => (await import("./commands/plugin.ts")).validate,
      },
      {
        name: "path",
        description: "print its folder, for `claude --plugin-dir`",
        load: async () => (await import("./commands/plugin.ts")).path,
      },
    ],
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
        takesProgram: true,
        settings: flagSettings,
        load: async () => (await import("./commands/config.ts")).explain,
      },
    ],
  },
  {
    name: "completion <shell>",
    group: "OTHER",
    description: "print a completion script for bash, zsh or fish",
    isQuiet: true,
    load: async () => (await import("./commands/completion.ts")).completionOf(commands),
  },
  {
    name: "version",
    group: "OTHER",
    description: "print the version",
    load: async () => (await import("./commands/version.ts")).showVersion,
  },
  {
    name: "own <verb> [files...]",
    description: "the background process of `-d`",
    hidden: true,
    options: [...startFlags, ...nightFlags, ["--swarm-id <id>", ""], ...ownerFlags, ...oldStartFlags],
    takesProgram: true,
    settings: flagSettings,
    load: async () => (await import("./commands/start.ts")).own,
  },
  // The commands' former names, from before `swarm state` existed.
  ...stateCommands
    .filter(({ name }) => !/^(check|repair)/.test(name))
    .map((command) => ({ ...command, name: `swarm-${command.name}`, hidden: true })),
];
