import { type Command, lazy } from "./command.ts";

export const watchCommands: readonly Command[] = [
  {
    name: "status",
    description: "show the swarm of this worktree, and where its state differs from the engine",
    options: [
      ["-w, --watch", "show the status again after each change, until all workers have ended"],
      [
        "--exit-status",
        "exit with 0 if all workers completed, 5 if workers failed, 7 if limits ended workers, 8 if workers are unfinished, 3 if no engine answered",
      ],
    ],
    load: lazy(() => import("../commands/watch/status.ts"), "statusCommand"),
  },
  {
    name: "logs <worker>",
    description: "show a worker's log, story by story, with the checks; also after its container was removed",
    options: [
      ["-f, --follow", "follow the log until the worker has ended, including further attempts"],
      ["--story <id>", "show only this story"],
      ["--attempt <n>", "show only this attempt"],
    ],
    load: lazy(() => import("../commands/watch/logs.ts"), "logsCommand"),
  },
  {
    name: "events",
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
    load: lazy(() => import("../commands/watch/events.ts"), "eventsCommand"),
  },
  {
    name: "attach <worker>",
    description:
      "watch the output of a running worker from inside its sandbox; Ctrl-C does not affect the worker",
    load: lazy(() => import("../commands/watch/attach.ts"), "attachCommand"),
  },
  {
    name: "wait [workers...]",
    description: "wait until the named workers, or all workers, have ended; the exit code shows their status",
    options: [["--timeout <time>", "the maximum time to wait, for example 30m"]],
    load: lazy(() => import("../commands/watch/wait.ts"), "waitCommand"),
  },
];
