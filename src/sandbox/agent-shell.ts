import { SwarmError } from "../domain/errors.ts";
import type { Containers, TerminalSession, TerminalSize } from "../ports/containers.ts";
import {
  type CommandRequest,
  type CommandResult,
  endProcesses,
  lostBecause,
  newCommandKey,
  runCommand,
} from "./run-command.ts";
import { defaultOutputLimit } from "./sandbox-defaults.ts";

/** A worker's sandbox that somebody wants to look into. */
export interface AgentPlace {
  readonly containers: Pick<Containers, "exec" | "openTerminal" | "look">;
  readonly containerId: string;
}

const workspace = "/workspace";
/** Without a history: what people type there is none of the agent's business. */
const environment = { HOME: "/home/agent", USER: "agent", LOGNAME: "agent", HISTFILE: "" } as const;

/** A terminal in there. What still runs in it ends with the disposal. */
export interface AgentSession extends Omit<TerminalSession, "exit"> {
  /** To be asked once the output has ended; throws what took the program away before its end. */
  exitCode(): Promise<number>;
}

export interface AgentTerminal {
  /** A shell where it is empty. */
  readonly command: readonly string[];
  /** What kind of terminal its user has. */
  readonly term: string;
  /** What the shell shows before each line. */
  readonly prompt: string;
}

/**
 * As the supervisor starts agents: root gives up user, groups and with them all capabilities. An engine that is asked to start a
 * program as user 1000 leaves it those of the container, on gVisor; and its terminal would be the agent's.
 */
const asAgent = ["/usr/bin/setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"] as const;
/** `sh -c <this> sh <folder> <program> <argument>…`: root may have no right to be there. */
const goTo = 'cd -- "$1" || exit 126; shift; exec "$@"';
const inWorkspace: readonly string[] = [...asAgent, "/bin/sh", "-c", goTo, "sh", workspace];
/** Without the files that the agent could have written for it. */
const anyShell: readonly string[] = [
  ...["/bin/sh", "-c", "command -v bash >/dev/null && exec bash --noprofile --norc; exec sh"],
];

/** Opens a terminal as the agent's user in its workspace, with a shell where no command is named. */
export async function openAgentTerminal(
  { containers, containerId }: AgentPlace,
  { command, term, prompt, ...size }: TerminalSize & AgentTerminal,
  signal: AbortSignal,
): Promise<AgentSession> {
  await refuseCapable({ containers, containerId }, signal);
  const key = newCommandKey();
  const session = await containers.openTerminal(
    containerId,
    {
      command: [...inWorkspace, ...(command.length > 0 ? command : anyShell)],
      ...{ user: "0:0", workdir: "/", ...size },
      env: { ...environment, TERM: term, PS1: prompt, AIMI_EXEC: key },
    },
    signal,
  );
  let hasEnded = false;
  return {
    write: session.write,
    resize: session.resize,
    output: session.output,
    async exitCode() {
      const exit = await session.exit();
      if (exit.kind === "lost")
        throw await lostBecause(containers, containerId, command.join(" ") || "the shell", exit.reason);
      hasEnded = true;
      return exit.code;
    },
    async [Symbol.asyncDispose]() {
      await session[Symbol.asyncDispose]();
      if (!hasEnded) await endProcesses(containers, { containerId, key, through: inWorkspace });
    },
  };
}

/** Runs a command as the agent's user in its workspace, without a terminal. */
export async function runAsAgent(
  { containers, containerId }: AgentPlace,
  request: Pick<CommandRequest, "command" | "input" | "onOutput">,
  signal: AbortSignal,
): Promise<CommandResult> {
  await refuseCapable({ containers, containerId }, signal);
  return runCommand(
    containers,
    {
      ...request,
      ...{ containerId, env: environment, workdir: "/", through: inWorkspace },
      ...{ timeoutMs: null, outputLimit: defaultOutputLimit },
    },
    signal,
  );
}

/** Not by the runtime's name, which anybody may choose: what a program that comes in this way really has. */
async function refuseCapable({ containers, containerId }: AgentPlace, signal: AbortSignal): Promise<void> {
  const command = [...asAgent, "/bin/cat", "/proc/self/status"];
  await using execution = await containers.exec(
    containerId,
    { command, user: "0:0", workdir: "/", input: false },
    signal,
  );
  let status = "";
  for await (const { stream, bytes } of execution.output)
    if (stream === "stdout") status += Buffer.from(bytes).toString();
  const problem = findRights(status);
  if (problem !== null)
    throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
      what: "a shell in the sandbox of this worker",
      reason: problem,
    });
}

/** What the user who was to have no rights has, by the kernel's words; null for none. */
export function findRights(status: string): string | null {
  const fieldOf = (name: string): string | null =>
    new RegExp(`^${name}:\\s*(.*?)\\s*$`, "m").exec(status)?.[1] ?? null;
  const ids = [fieldOf("Uid"), fieldOf("Gid")];
  if (ids.some((words) => words === null || words.split(/\s+/).some((id) => id !== "1000")))
    return "what comes in there does not become the agent's user";
  for (const name of ["CapPrm", "CapEff", "CapInh", "CapAmb"]) {
    const set = fieldOf(name);
    // Not every kernel names what could be handed on; what a program has, each does.
    if (set === null && (name === "CapInh" || name === "CapAmb")) continue;
    if (set === null || !/^0+$/.test(set))
      return `what comes in there keeps capabilities (${name} ${set ?? "unknown"})`;
  }
  return null;
}
