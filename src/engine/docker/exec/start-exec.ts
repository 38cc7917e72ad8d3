import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { isError, SwarmError } from "../../../errors/errors.ts";
import { pollUntilAnswer } from "../../../machine/poll-until.ts";
import { waitUntilDrained } from "../../../wire/wait-until-drained.ts";
import type { ExecExit, ExecSpec } from "../../containers.ts";
import type { AbortOption, EngineConnection } from "../call-engine.ts";
import { assignments } from "../label-filter.ts";
import { translateEngineFailure } from "../translate-failure.ts";

const settleMs = 10_000;
/** The exit codes of a program that a dying container killed, or did not let start any more. */
const codesOfDyingContainers: readonly number[] = [137, 126];
const dyingMs = 1_000;
/** The minimum and maximum interval in milliseconds between two checks whether a program has started. */
const shortestMs = 10;
const maxMs = 200;

/**
 * A program that swarm started in a running container, with the connection that carries the program's input
 * and output.
 */
export interface StartedExec extends AsyncDisposable {
  readonly exec: Docker.Exec;
  readonly socket: Duplex;
  /** The program's command line, shortened for error messages. */
  readonly command: string;
  /** Writes bytes to the program's input. Resolves when the connection can accept more bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Translates an error of the broken connection into a `SwarmError`. */
  translated(error: unknown): unknown;
  exit(): Promise<ExecExit>;
}

/**
 * Starts a program in a running container. If the program gets a terminal, its output is one raw stream,
 * without Docker's stdout and stderr frames.
 */
export async function startExec(
  { docker, endpoint, call, gate }: EngineConnection,
  id: string,
  { terminal = false, ...spec }: ExecSpec & { readonly terminal?: boolean },
  signal?: AbortSignal,
): Promise<StartedExec> {
  const command = spec.command.join(" ").slice(0, 200);
  const meaning = {
    operation: `run ${command}`,
    signal,
    container: id,
    missing: () => new SwarmError("CONTAINER_GONE", { id }),
    conflicting: (reason: string) =>
      new SwarmError("CONTAINER_NOT_RUNNING", {
        id,
        state: /is paused/.test(reason) ? "paused" : "ended or never started",
      }),
  };
  const exec = await call(meaning, (ending) =>
    docker.getContainer(id).exec({
      Cmd: [...spec.command],
      AttachStdin: spec.input,
      AttachStdout: true,
      AttachStderr: true,
      Tty: terminal,
      ...(spec.workdir !== undefined && { WorkingDir: spec.workdir }),
      ...(spec.user !== undefined && { User: spec.user }),
      Env: assignments(spec.env ?? {}),
      ...ending,
    }),
  );
  const { ContainerID } = await call(meaning, (ending) => exec.inspect(ending));
  const starting = { ...meaning, operation: `start ${command}` };
  await using undo = new AsyncDisposableStack();
  undo.use(await gate.lockForStart(ContainerID, signal));
  // The container may have ended since the previous call; the engine then fails this call.
  const socket: Duplex = await call(starting, (ending) =>
    exec.start({ hijack: true, stdin: spec.input, Tty: terminal, ...ending }),
  );
  const passed = undo.move();
  // The engine answers before the program has started. Hold the gate until the program has started, even if
  // the caller aborts meanwhile.
  void call({ ...starting, signal: undefined }, (ending) => hasBegun(exec, socket, ending))
    .catch((error: unknown) => {
      if (isError(error, "CONTAINER_STUCK")) socket.destroy(error);
    })
    .finally(() => passed.disposeAsync());
  // Reads and writes report a broken connection themselves. Without this listener, an error between them
  // would end the process.
  socket.on("error", () => {});
  const abort = (): void => void socket.destroy();
  signal?.addEventListener("abort", abort, { once: true });

  return {
    exec,
    socket,
    command,

    async write(bytes) {
      if (socket.destroyed || !socket.writable) return;
      // A caller notices a closed socket when it reads the program's output or exit code.
      if (!socket.write(bytes)) await waitUntilDrained(socket);
    },

    translated: (error) =>
      translateEngineFailure(endpoint, { operation: `read the output of ${command}`, signal }, error),

    exit: () => exitOf(docker.getContainer(id), exec, signal),

    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", abort);
      socket.destroy();
    },
  };
}

/**
 * Resolves when the engine reports the program's process ID or exit code, or when the connection closes
 * before the program starts.
 */
async function hasBegun(exec: Docker.Exec, socket: Duplex, ending: AbortOption): Promise<void> {
  for (let waitMs = shortestMs; ; waitMs = Math.min(maxMs, 2 * waitMs)) {
    const { Running, Pid, ExitCode } = await exec.inspect(ending);
    if (Pid !== 0 || ExitCode !== null || (!Running && socket.destroyed)) return;
    await delay(waitMs, undefined, { signal: ending.abortSignal });
  }
}

/**
 * Polls the engine for the program's exit code, which the engine sets shortly after it closes the output
 * stream. If the container has ended, the engine may never set the exit code.
 */
async function exitOf(
  container: Docker.Container,
  exec: Docker.Exec,
  signal?: AbortSignal,
): Promise<ExecExit> {
  const ending = { ...(signal && { abortSignal: signal }) };
  try {
    const code = await pollUntilAnswer(
      async () => {
        const { Running, ExitCode } = await exec.inspect(ending);
        return Running ? undefined : (ExitCode ?? 0);
      },
      { waitMs: settleMs, everyMs: 10 },
    );
    if (code === undefined)
      return { kind: "lost", reason: "the program's streams are closed, but the program still runs" };
    const state = await stateAfter(container, code, ending);
    return state === null ? { kind: "exited", code } : { kind: "lost", reason: `the container is ${state}` };
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "lost", reason: (error as Error).message.trim().slice(0, 200) };
  }
}

/**
 * Returns the container's state if the container ended together with the program; null if the container
 * still runs. After such a code, polls for a while, because the engine reports a program's end before its
 * container's end.
 */
async function stateAfter(
  container: Docker.Container,
  exitCode: number,
  ending: Partial<AbortOption>,
): Promise<string | null> {
  const state = await pollUntilAnswer(
    async () => {
      const { State } = await container.inspect(ending);
      return State.Running ? undefined : State.Status;
    },
    { waitMs: codesOfDyingContainers.includes(exitCode) ? dyingMs : 0, everyMs: 20 },
  );
  return state ?? null;
}
