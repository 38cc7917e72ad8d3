import { randomBytes } from "node:crypto";
import type { ContainerExecution, Containers, ExecExit, OutputChunk } from "../../engine/containers.ts";
import { SwarmError } from "../../errors/errors.ts";
import { BoundedText } from "../../text/bounded-text.ts";
import { formatBytes } from "../../text/duration-and-size.ts";
import { sandboxUser } from "../sandbox-defaults.ts";
import {
  commandStateScript,
  killCommandScript,
  runCommandScript,
  shellCommand,
} from "./in-container-scripts.ts";

/** The container in which a command runs, and the engine's containers. */
export interface CommandContainer {
  readonly containers: Pick<Containers, "exec" | "inspect">;
  readonly containerId: string;
}

export interface CommandRequest {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly input?: Uint8Array | AsyncIterable<Uint8Array>;
  /** The time limit of the command in milliseconds; null if the command may run until the sandbox ends. */
  readonly timeoutMs: number | null;
  /**
   * The maximum number of characters to keep of stdout, and of stderr. Of a longer stream, half of these
   * characters come from its beginning and half from its end.
   */
  readonly outputLimit: number;
  /** The maximum size of stdout and stderr together in bytes. If the program exceeds it, swarm kills it. */
  readonly maxOutputBytes?: number;
  /**
   * Called with each chunk of stdout or stderr. Swarm reads the next chunk only after the returned promise
   * has resolved.
   */
  readonly onOutput?: (chunk: OutputChunk) => Promise<void> | void;
  /**
   * A key with which another process can read the program's exit code if this process dies. Without a key,
   * the container does not store the exit code.
   */
  readonly key?: string;
  /**
   * A command prefix that switches from root to another user. With a prefix, the engine starts the program as
   * root, else as the sandbox's user.
   */
  readonly commandPrefix?: readonly string[];
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether `stdout` or `stderr` leaves out part of the output. */
  readonly isCut: boolean;
  /**
   * The number of characters that the program wrote to stdout, including characters that `stdout` leaves out.
   */
  readonly stdoutLength: number;
  readonly stderrLength: number;
  readonly durationMs: number;
}

const endWithinMs = 15_000;

/**
 * Runs a program in a container, and returns its exit code and output. On abort or timeout, kills all
 * processes of the program in the container.
 */
export async function runCommand(
  container: CommandContainer,
  request: CommandRequest,
  signal?: AbortSignal,
): Promise<CommandResult> {
  const { command, timeoutMs } = request;
  refuseVariables(request.env ?? {});
  const key = request.key ?? newCommandKey();
  const name = command.join(" ").slice(0, 200);
  const limit = new AbortController();
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(
          () => limit.abort(new SwarmError("COMMAND_TIMEOUT", { command: name, limitMs: timeoutMs })),
          timeoutMs,
        );
  const ending = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  const startedAt = performance.now();
  const texts = {
    stdout: new BoundedText(request.outputLimit),
    stderr: new BoundedText(request.outputLimit),
  };
  let exit: ExecExit;
  try {
    await using execution = await container.containers.exec(
      container.containerId,
      {
        command: [
          ...(request.commandPrefix ?? []),
          ...shellCommand(runCommandScript, key, request.key === undefined ? "forget" : "keep", ...command),
        ],
        user: request.commandPrefix ? "0:0" : sandboxUser,
        env: { ...request.env, AIMI_EXEC: key },
        ...(request.workdir !== undefined && { workdir: request.workdir }),
        input: request.input !== undefined,
      },
      ending,
    );
    // The program may end without reading all of its input, so writing the input is not awaited. If the input
    // cannot be read, the program is ended.
    const fed = new AbortController();
    void feed(execution, request.input, fed.signal).catch((error: unknown) => limit.abort(error));
    await readOutput(execution, { ...request, mark: `aimi-${key}: ` }, texts, limit).finally(() =>
      fed.abort(),
    );
    ending.throwIfAborted();
    exit = await execution.exit();
  } catch (error) {
    if (!ending.aborted) throw error;
    await endCommandProcesses(container, key, request.commandPrefix);
    throw ending.reason;
  } finally {
    clearTimeout(timer);
  }
  if (exit.kind === "lost") throw await explainLostExitCode(container, name, exit.reason);
  const [stdout, stderr] = [texts.stdout.finish(), texts.stderr.finish()];
  refuseUnstarted(command, { exit: exit.code, key, stdout: stdout.text, stderr: stderr.text });
  return {
    exitCode: exit.code,
    stdout: stdout.text,
    stderr: stderr.text,
    isCut: stdout.isCut || stderr.isCut,
    stdoutLength: stdout.length,
    stderrLength: stderr.length,
    durationMs: performance.now() - startedAt,
  };
}

export function newCommandKey(): string {
  return randomBytes(8).toString("hex");
}

type CommandState =
  | { readonly kind: "running" | "unknown" }
  | { readonly kind: "ended"; readonly exitCode: number };

/** Returns the state of a program that another process started in the container with this key. */
export async function readCommandState(
  container: CommandContainer,
  key: string,
  signal?: AbortSignal,
): Promise<CommandState> {
  const { stdout } = await runCommand(
    container,
    {
      command: shellCommand(commandStateScript, key),
      timeoutMs: endWithinMs,
      outputLimit: 100,
    },
    signal,
  );
  const [, exitCode] = /^exit (\d+)$/m.exec(stdout) ?? [];
  if (exitCode !== undefined) return { kind: "ended", exitCode: Number(exitCode) };
  return { kind: stdout.trim() === "running" ? "running" : "unknown" };
}

function refuseVariables(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0"))
      throw new SwarmError("SPEC_REFUSED", {
        field: `The variable ${JSON.stringify(name)}`,
        reason:
          "a variable's name may contain only letters, digits and _, and must not begin with a digit; its value must not contain a NUL character",
      });
  }
}

async function feed(
  execution: ContainerExecution,
  input: CommandRequest["input"],
  isOver: AbortSignal,
): Promise<void> {
  if (input === undefined) return;
  if (input instanceof Uint8Array) await execution.write(input);
  else
    for await (const bytes of input) {
      if (isOver.aborted) return;
      await execution.write(bytes);
    }
  await execution.endInput();
}

async function readOutput(
  execution: ContainerExecution,
  { command, maxOutputBytes, onOutput, mark }: CommandRequest & { readonly mark: string },
  texts: Readonly<Record<OutputChunk["stream"], BoundedText>>,
  limit: AbortController,
): Promise<void> {
  let total = 0;
  for await (const chunk of execution.output) {
    texts[chunk.stream].add(chunk.bytes);
    // This chunk is a message from `runCommandScript` to this module, not output of the program.
    if (chunk.bytes.length < 100 && Buffer.from(chunk.bytes).toString().startsWith(mark)) continue;
    try {
      await onOutput?.(chunk);
    } catch (error) {
      // If the caller cannot accept more output, the program is not needed any more.
      limit.abort(error);
      return;
    }
    total += chunk.bytes.length;
    if (maxOutputBytes !== undefined && total > maxOutputBytes) {
      const facts = { command: command.join(" ").slice(0, 200), limit: formatBytes(maxOutputBytes) };
      limit.abort(new SwarmError("OUTPUT_TOO_LONG", facts));
      return;
    }
  }
}

/**
 * Kills all processes of a program in a container, which can outlive the connection to the engine. Ignores
 * errors of the engine: if the container is gone, no processes are left.
 */
export async function endCommandProcesses(
  { containers, containerId }: CommandContainer,
  key: string,
  commandPrefix: readonly string[] | undefined,
): Promise<void> {
  const deadline = AbortSignal.timeout(endWithinMs);
  try {
    await using execution = await containers.exec(
      containerId,
      {
        command: [...(commandPrefix ?? []), ...shellCommand(killCommandScript, key)],
        user: commandPrefix ? "0:0" : sandboxUser,
        input: false,
      },
      deadline,
    );
    for await (const _ of execution.output);
    await execution.exit();
  } catch (error) {
    if (error instanceof SwarmError && /^CONTAINER_|^ENGINE_/.test(error.code)) return;
    if (deadline.aborted) return;
    throw error;
  }
}

/**
 * Returns an error with the reason why the engine does not know a program's exit code. Usually, the container
 * has ended.
 */
export async function explainLostExitCode(
  { containers, containerId: id }: CommandContainer,
  command: string,
  reason: string,
): Promise<SwarmError> {
  const facts = await containers.inspect(id).catch((error: unknown) => {
    if (error instanceof SwarmError) return error;
    throw error;
  });
  if (facts instanceof SwarmError) return facts;
  if (facts === null) return new SwarmError("CONTAINER_GONE", { id });
  const { state, memoryExhausted } = facts;
  if (memoryExhausted)
    return new SwarmError("MEMORY_EXHAUSTED", { name: command, limit: "the sandbox's memory limit" });
  if (state !== "running") return new SwarmError("CONTAINER_NOT_RUNNING", { id, state });
  return new SwarmError("EXEC_FAILED", { command, reason });
}

/**
 * Throws if the program could not be started. One of these messages shows this:
 * - a message of `runCommandScript` with the random key, which no program prints by chance
 * - an error message of the engine, if the image contains no shell
 */
function refuseUnstarted(
  [program = ""]: readonly string[],
  { exit, key, stdout, stderr }: { exit: number; key: string; stdout: string; stderr: string },
): void {
  if (exit === 127 && stderr.includes(`aimi-${key}: not found`))
    throw new SwarmError("PROGRAM_NOT_FOUND", { program });
  if (exit === 126 && stderr.includes(`aimi-${key}: not executable`))
    throw new SwarmError("PROGRAM_NOT_EXECUTABLE", { program });
  if ((exit === 126 || exit === 127) && /^OCI runtime exec failed|executable file not found/.test(stdout))
    throw new SwarmError("EXEC_FAILED", { command: program, reason: stdout.trim().slice(0, 300) });
}
