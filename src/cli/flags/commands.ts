import type { Command } from "./command.ts";
import { imageCommands, sandboxCommands } from "./sandbox-commands.ts";
import { scheduleCommands } from "./schedule-commands.ts";
import { deprecatedStartFlags, engineFlag, settingFlags, settingsFromFlags } from "./setting-flags.ts";
import {
  againFlag,
  detachFlag,
  forceFlag,
  ownerFlags,
  startCommandFlags,
  startRequestFlags,
  strictFlag,
  unattendedFlags,
} from "./start-flags.ts";
import { stateCommands } from "./state-commands.ts";

/** The definitions of all swarm commands, in the order of the help. */
export const commands: readonly Command[] = [
  {
    name: "init",
    group: "START",
    description: "write settings, an example task file and .gitignore rules into this repository",
    load: async () => (await import("../commands/init.ts")).initCommand,
  },
  {
    name: "doctor",
    group: "START",
    description: "check everything that a swarm needs, and show how to fix each problem",
    options: [
      ["--fix", "fix what swarm can fix: start the private engine if no engine answers"],
      ["--yes", "install missing Debian packages without asking"],
      engineFlag,
    ],
    settings: settingsFromFlags,
    load: async () => (await import("../commands/doctor.ts")).doctorCommand,
  },
  {
    name: "plan [files...]",
    group: "START",
    description: "show which task files would run, in which order and why; changes nothing",
    options: [
      ["--all", "show all task files; the default without names"],
      againFlag,
      strictFlag,
      ...settingFlags,
    ],
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/plan.ts")).planCommand,
  },
  {
    name: "start [files...]",
    group: "START",
    description: "carry out task files, each in its own sealed sandbox; the results are verified branches",
    options: startCommandFlags,
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/start.ts")).startCommand,
  },
  {
    name: "run <prompt...>",
    group: "START",
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
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/run.ts")).swarmRunCommand,
  },
  {
    name: "resume",
    group: "START",
    description: "continue the workers of this swarm that have neither completed nor failed",
    options: [...unattendedFlags, detachFlag, ...ownerFlags],
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/start.ts")).resumeCommand,
  },
  {
    name: "retry <workers...>",
    group: "START",
    description:
      "retry failed or stopped workers from their last good commit; @failed selects all failed workers",
    options: [
      [
        "--onto <branch>",
        "merge each result with this branch, and let the agent continue from the merge commit; `integration` stands for the branch of `swarm merge`",
      ],
      ...ownerFlags,
    ],
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/start.ts")).retryCommand,
  },
  {
    name: "status",
    group: "WATCH",
    description: "show the swarm of this worktree, and where its state differs from the engine",
    options: [
      ["-w, --watch", "show the status again after each change, until all workers have ended"],
      [
        "--exit-status",
        "exit with 0 if all workers completed, 5 if workers failed, 7 if limits ended workers, 8 if workers are unfinished, 3 if no engine answered",
      ],
    ],
    load: async () => (await import("../commands/status.ts")).statusCommand,
  },
  {
    name: "logs <worker>",
    group: "WATCH",
    description: "show a worker's log, story by story, with the checks; also after its container was removed",
    options: [
      ["-f, --follow", "follow the log until the worker has ended, including further attempts"],
      ["--story <id>", "show only this story"],
      ["--attempt <n>", "show only this attempt"],
    ],
    load: async () => (await import("../commands/logs.ts")).logsCommand,
  },
  {
    name: "events",
    group: "WATCH",
    description:
      "show the owner's decisions and actions with reasons; --json prints each stored event as a line",
    options: [
      ["-f, --follow", "also show new events as they occur"],
      ["--worker <worker>", "show only events of this worker"],
      [
        "--kind <kind>",
        "show only the agents' network access: `model` for calls to model APIs, `egress` for other hosts",
      ],
      ["--swarm <id>", "show events of an earlier swarm: its id, the beginning of its id, or all"],
    ],
    load: async () => (await import("../commands/events.ts")).eventsCommand,
  },
  {
    name: "attach <worker>",
    group: "WATCH",
    description:
      "watch the output of a running worker from inside its sandbox; Ctrl-C does not affect the worker",
    load: async () => (await import("../commands/attach.ts")).attachCommand,
  },
  {
    name: "wait [workers...]",
    group: "WATCH",
    description: "wait until the named workers, or all workers, have ended; the exit code shows their status",
    options: [["--timeout <time>", "the maximum time to wait, for example 30m"]],
    load: async () => (await import("../commands/wait.ts")).waitCommand,
  },
  {
    name: "stop [workers...]",
    group: "STEER",
    description: "stop the named workers, or all workers; their work is kept, and they can continue later",
    load: async () => (await import("../commands/steer.ts")).stopCommand,
  },
  {
    name: "pause [workers...]",
    group: "STEER",
    description: "freeze the containers of the named workers, or of all workers",
    load: async () => (await import("../commands/steer.ts")).pauseCommand,
  },
  {
    name: "unpause [workers...]",
    group: "STEER",
    description: "continue paused workers",
    load: async () => (await import("../commands/steer.ts")).unpauseCommand,
  },
  {
    name: "shell <worker> [command...]",
    group: "STEER",
    description:
      "open a shell in a running worker's sandbox as the agent's user, or run a command, for example in the worker `login`: shell login -- git status",
    forwardsArguments: true,
    load: async () => (await import("../commands/shell.ts")).shellCommand,
  },
  {
    name: "diff <worker>",
    group: "REVIEW",
    description: "show a worker's changes that were imported into this repository",
    options: [["--stat", "show only the changed files with line counts"]],
    load: async () => (await import("../commands/diff.ts")).diffCommand,
  },
  {
    name: "summary",
    group: "REVIEW",
    description: "summarise each worker's work, cost and failures, and the next steps",
    options: [
      ["--markdown", "print the summary as Markdown"],
      ["--html", "print the summary as HTML, with a timeline of the workers"],
    ],
    load: async () => (await import("../commands/summary.ts")).summaryCommand,
  },
  {
    name: "merge [workers...]",
    group: "REVIEW",
    description: "merge results into one branch; each merge is checked in a fresh sandbox",
    options: [
      ["--into <branch>", "the target branch; the default is the swarm's own integration branch"],
      [
        "--check <command>",
        "the command that each merge must pass; the default is the repository's own tests",
      ],
      ["--no-check", "merge all results that do not conflict, without running checks"],
    ],
    load: async () => (await import("../commands/merge.ts")).mergeCommand,
  },
  {
    name: "cleanup [workers...]",
    group: "UPKEEP",
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
    load: async () => (await import("../commands/cleanup.ts")).cleanupCommand,
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
    description: "read and change the state file under its lock",
    commands: stateCommands,
  },
  {
    name: "engine",
    group: "UPKEEP",
    description: "run a private container engine, separate from the machine's other engines",
    commands: [
      {
        name: "start",
        description: "start the private engine; on Debian and Ubuntu, as root, install missing packages",
        options: [
          ["--yes", "install missing Debian packages without asking"],
          ["--reset", "move the engine's data aside and start with an empty engine"],
        ],
        load: async () => (await import("../commands/engine.ts")).engineStartCommand,
      },
      {
        name: "stop",
        description: "stop the private engine and its containers, and remove its network",
        load: async () => (await import("../commands/engine.ts")).engineStopCommand,
      },
      {
        name: "status",
        description: "show the private engine's endpoint, and whether the engine runs",
        load: async () => (await import("../commands/engine.ts")).engineStatusCommand,
      },
    ],
  },
  {
    name: "schedule",
    group: "UPKEEP",
    description: "schedule swarms in your crontab, for example every night",
    commands: scheduleCommands,
  },
  {
    name: "trust",
    group: "UPKEEP",
    description: "allow this project's files to use settings that an untrusted repository may not use",
    options: [["--yes", "do not ask for confirmation"]],
    load: async () => (await import("../commands/trust.ts")).trustCommand,
  },
  {
    name: "sandbox",
    group: "SANDBOX",
    description: "run a file or a command in a single sealed container",
    commands: sandboxCommands,
  },
  {
    name: "hook <event>",
    group: "OTHER",
    description: "handle the hook events of Claude Code: pre-tool-use, session-start, post-tool-use",
    options: [
      ["--plugin <folder>", "the path of the plugin's folder, as Claude Code passes it to hooks"],
      ["--explain", "with pre-tool-use: print the decision about a tool call and the reason as text"],
    ],
    isQuiet: true,
    load: async () => (await import("../commands/hook.ts")).hookCommand,
  },
  {
    name: "statusline",
    group: "OTHER",
    description: "print a line for Claude Code's status line, from the state file; empty without a swarm",
    options: [["--wrap <command>", "the command of another status line; its output is printed first"]],
    load: async () => (await import("../commands/statusline.ts")).statuslineCommand,
  },
  {
    name: "plugin",
    group: "OTHER",
    description: "install the plugin for Claude Code: slash commands, hooks and a skill",
    commands: [
      {
        name: "install",
        description: "install the plugin with the `claude` program on the PATH",
        load: async () => (await import("../commands/plugin.ts")).pluginInstallCommand,
      },
      {
        name: "validate",
        description: "validate the plugin with Claude Code, and test the plugin's hook with sample calls",
        load: async () => (await import("../commands/plugin.ts")).pluginValidateCommand,
      },
      {
        name: "path",
        description: "print the path of the plugin's folder, for `claude --plugin-dir`",
        load: async () => (await import("../commands/plugin.ts")).pluginPathCommand,
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
        description: "show the value and the origin of each setting",
        options: settingFlags,
        takesProgram: true,
        settings: settingsFromFlags,
        load: async () => (await import("../commands/config.ts")).configExplainCommand,
      },
    ],
  },
  {
    name: "completion <shell>",
    group: "OTHER",
    description: "print a completion script for bash, zsh or fish",
    isQuiet: true,
    load: async () => (await import("../commands/completion.ts")).createCompletionCommand(commands),
  },
  {
    name: "version",
    group: "OTHER",
    description: "print the version",
    load: async () => (await import("../commands/version.ts")).versionCommand,
  },
  {
    name: "own <verb> [files...]",
    description: "the background process that `swarm start -d` starts",
    hidden: true,
    options: [
      ...startRequestFlags,
      ...unattendedFlags,
      ["--swarm-id <id>", ""],
      ["--planned <file=sha256>", "", "many"],
      ...ownerFlags,
      ...deprecatedStartFlags,
    ],
    takesProgram: true,
    settings: settingsFromFlags,
    load: async () => (await import("../commands/start.ts")).backgroundOwnerCommand,
  },
  // The commands' former names, from before `swarm state` existed.
  ...stateCommands
    .filter(({ name }) => !/^(check|repair)/.test(name))
    .map((command) => ({ ...command, name: `swarm-${command.name}`, hidden: true })),
];
