import type { Containers, TerminalSession, TerminalSize } from "../../engine/containers.ts";
import { SwarmError } from "../../errors/errors.ts";
import { defaultMaxOutputLength } from "../sandbox-defaults.ts";
import {
  type CommandContainer,
  type CommandRequest,
  type CommandResult,
  endCommandProcesses,
  explainLostExitCode,
  newCommandKey,
  runCommand,
} from "./run-command.ts";

/** A worker's container, in which the user opens a shell or runs a command. */
interface AgentContainer extends CommandContainer {
  readonly containers: Pick<Containers, "exec" | "openTerminal" | "inspect">;
}

const workspace = "/workspace";
/**
 * The environment of the programs that the user starts in a worker's container. HISTFILE is empty, so that
 * the shell saves no command history, which the agent could read.
 */
const environment = { HOME: "/home/agent", USER: "agent", LOGNAME: "agent", HISTFILE: "" } as const;

/**
 * A program in a terminal in a worker's container. Disposing the session kills the processes that still run
 * in the terminal.
 */
export interface AgentSession extends Omit<TerminalSession, "exit"> {
  /**
   * Returns the exit code of the program in the terminal. Call this method only after `output` has ended.
   * Throws if the engine does not know the exit code.
   */
  exitCode(): Promise<number>;
}

export interface AgentTerminalOptions {
  /** The program to run and its arguments. If the list is empty, a shell runs. */
  readonly command: readonly string[];
  /** The value of `TERM` in the user's own terminal. */
  readonly term: string;
  /** The shell's prompt (`PS1`). */
  readonly prompt: string;
}

/**
 * A command prefix that switches from root to the agent's user, without groups and capabilities, as the
 * supervisor does for the agent. To let the engine start the program as user 1000 is not enough:
 * - on gVisor, the program would keep the container's capabilities
 * - on every runtime, the agent's user would own the terminal
 */
const asAgent = ["/usr/bin/setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"] as const;
/**
 * A shell script that changes to a folder and then runs a program: `sh -c <script> sh <folder> <program>
 * <argument>…`. The script runs as the agent's user, because root without capabilities may not enter the
 * folder.
 */
const goTo = 'cd -- "$1" || exit 126; shift; exec "$@"';
const inWorkspace: readonly string[] = [...asAgent, "/bin/sh", "-c", goTo, "sh", workspace];
/**
 * The command that starts a shell: bash if the container has it, else sh. The shell reads no startup files,
 * because the agent may have changed them.
 */
const anyShell: readonly string[] = [
  "/bin/sh",
  "-c",
  "command -v bash >/dev/null && exec bash --noprofile --norc; exec sh",
];

/**
 * Opens a terminal in the agent's workspace folder, as the agent's user. The terminal runs the given command,
 * or a shell if the command is empty.
 */
export async function openAgentTerminal(
  container: AgentContainer,
  { command, term, prompt, ...size }: TerminalSize & AgentTerminalOptions,
  signal: AbortSignal,
): Promise<AgentSession> {
  await refuseCapable(container, signal);
  const key = newCommandKey();
  const session = await container.containers.openTerminal(
    container.containerId,
    {
      command: [...inWorkspace, ...(command.length > 0 ? command : anyShell)],
      user: "0:0",
      workdir: "/",
      ...size,
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
        throw await explainLostExitCode(container, command.join(" ") || "the shell", exit.reason);
      hasEnded = true;
      return exit.code;
    },
    async [Symbol.asyncDispose]() {
      await session[Symbol.asyncDispose]();
      if (!hasEnded) await endCommandProcesses(container, key, inWorkspace);
    },
  };
}

/** Runs a command in the agent's workspace folder, as the agent's user and without a terminal. */
export async function runCommandAsAgentUser(
  container: CommandContainer,
  request: Pick<CommandRequest, "command" | "input" | "onOutput">,
  signal: AbortSignal,
): Promise<CommandResult> {
  await refuseCapable(container, signal);
  return runCommand(
    container,
    {
      ...request,
      env: environment,
      workdir: "/",
      commandPrefix: inWorkspace,
      timeoutMs: null,
      outputLimit: defaultMaxOutputLength,
    },
    signal,
  );
}

/**
 * Throws if a program that swarm starts as the agent's user would have more rights than the agent. Measures
 * the rights with a test program, because the name of a runtime proves nothing.
 */
async function refuseCapable(
  { containers, containerId }: CommandContainer,
  signal: AbortSignal,
): Promise<void> {
  const command = [...asAgent, "/bin/cat", "/proc/self/status"];
  await using execution = await containers.exec(
    containerId,
    { command, user: "0:0", workdir: "/", input: false },
    signal,
  );
  let status = "";
  for await (const { stream, bytes } of execution.output)
    if (stream === "stdout") status += Buffer.from(bytes).toString();
  const problem = findExcessRights(status);
  if (problem !== null)
    throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
      what: "a shell in the sandbox of this worker",
      reason: problem,
    });
}

/**
 * Checks a program's rights by the content of its `/proc/<pid>/status`. Returns a message about the first
 * right that the agent does not have; null if there is none.
 */
export function findExcessRights(status: string): string | null {
  const fieldOf = (name: string): string | null =>
    new RegExp(`^${name}:\\s*(.*?)\\s*$`, "m").exec(status)?.[1] ?? null;
  const ids = [fieldOf("Uid"), fieldOf("Gid")];
  if (ids.some((words) => words === null || words.split(/\s+/).some((id) => id !== "1000")))
    return "a program started in this sandbox does not run as the agent's user";
  for (const name of ["CapPrm", "CapEff", "CapInh", "CapAmb"]) {
    const set = fieldOf(name);
    // Every kernel reports the permitted and the effective capabilities. Some kernels do not report the
    // inheritable and the ambient ones.
    if (set === null && (name === "CapInh" || name === "CapAmb")) continue;
    if (set === null || !/^0+$/.test(set))
      return `a program started in this sandbox keeps capabilities (${name} ${set ?? "unknown"})`;
  }
  return null;
}
