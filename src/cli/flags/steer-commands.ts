import { type Command, lazy } from "./command.ts";

const steerModule = () => import("../commands/steer/steer.ts");

export const steerCommands: readonly Command[] = [
  {
    name: "stop [workers...]",
    description: "stop the named workers, or all workers; their work is kept, and they can continue later",
    load: lazy(steerModule, "stopCommand"),
  },
  {
    name: "pause [workers...]",
    description: "freeze the containers of the named workers, or of all workers",
    load: lazy(steerModule, "pauseCommand"),
  },
  {
    name: "unpause [workers...]",
    description: "continue paused workers",
    load: lazy(steerModule, "unpauseCommand"),
  },
  {
    name: "shell <worker> [command...]",
    description:
      "open a shell in a running worker's sandbox as the agent's user, or run a command, for example in the worker `login`: shell login -- git status",
    forwardsArguments: true,
    load: lazy(() => import("../commands/steer/shell.ts"), "shellCommand"),
  },
];
