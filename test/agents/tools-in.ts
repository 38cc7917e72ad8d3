import type { AgentActivity, AgentProgram, TurnSandbox, TurnUsage } from "../../adapter/agents/agent.ts";
import type { ContainerExecution, Containers } from "../../src/engine/containers.ts";
import { runIn } from "./stand-in.ts";

export interface RealTools extends TurnSandbox {
  readonly activities: readonly AgentActivity[];
  readonly usages: readonly TurnUsage[];
}

/** What the supervisor gives to an agent, from outside: programs start by `exec` in a running container. */
export function toolsIn(
  containers: Containers,
  id: string,
  env: Readonly<Record<string, string>>,
): RealTools {
  const activities: AgentActivity[] = [];
  const usages: TurnUsage[] = [];
  let kept: string | null = null;
  return {
    ...{ activities, usages, env },
    conversation: {
      get id() {
        return kept;
      },
      keep: async (name) => {
        kept = name;
      },
    },
    report: (activity) => void activities.push(activity),
    reportUsage: (usage) => void usages.push(usage),
    async runCommand(command) {
      const { code, text } = await runIn(containers, id, { command, env });
      return { code, output: text };
    },
    start: (command, more = {}) => startIn(containers, id, command, { ...env, ...more }),
  };
}

const asItself = 'echo "$$"; exec "$@"';

function startIn(
  containers: Containers,
  id: string,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): AgentProgram {
  const started = containers.exec(id, {
    command: ["sh", "-c", asItself, "sh", ...command],
    env: { HOME: "/home/agent", ...env },
    user: "1000:1000",
    workdir: "/workspace",
    input: true,
  });
  const pid = Promise.withResolvers<string>();
  const exit = Promise.withResolvers<number>();
  let stderrTail = "";

  async function* read(): AsyncGenerator<string> {
    const execution = await started;
    let isFirst = true;
    for await (const line of linesOf(execution, (text) => {
      stderrTail = `${stderrTail}${text}`.slice(-4_000);
    })) {
      if (!isFirst) yield line;
      else pid.resolve(line);
      isFirst = false;
    }
    const end = await execution.exit();
    exit.resolve(end.kind === "exited" ? end.code : -1);
    await execution[Symbol.asyncDispose]();
  }

  const signal = async (name: string, target: string): Promise<void> => {
    await runIn(containers, id, { command: ["sh", "-c", `kill -s ${name} -- ${target}`] });
  };
  return {
    lines: read(),
    exit: exit.promise,
    get stderrTail() {
      return stderrTail;
    },
    write: async (text) => (await started).write(Buffer.from(text)),
    endInput: () => void started.then((execution) => execution.endInput()),
    interrupt: () => void pid.promise.then((number) => signal("INT", number)),
    kill: () => signal("KILL", "-1"),
  };
}

async function* linesOf(
  execution: ContainerExecution,
  complain: (text: string) => void,
): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stderr") {
      complain(Buffer.from(bytes).toString());
      continue;
    }
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
