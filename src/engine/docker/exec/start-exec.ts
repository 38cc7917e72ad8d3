import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { isError, SwarmError } from "../../../errors/errors.ts";
import type { ContainerPauseLock } from "../../../machine/pause-lock.ts";
import type { ExecExit, ExecSpec } from "../../containers.ts";
import type { EngineCaller } from "../call-engine.ts";
import { abortSignalOption } from "../dockerode-client.ts";
import { translateEngineFailure } from "../translate-failure.ts";

const settleMs = 10_000;
const killed = 137;
const dyingMs = 1_000;
/** The minimum and maximum interval in milliseconds between two checks whether a program has started. */
const shortestMs = 10;
const maxMs = 200;

export interface StartExecDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  readonly call: EngineCaller;
  readonly gate: ContainerPauseLock;
}

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
  { docker, endpoint, call, gate }: StartExecDeps,
  { id, spec, terminal }: { readonly id: string; readonly spec: ExecSpec; readonly terminal: boolean },
  signal?: AbortSignal,
): Promise<StartedExec> {
  const command = spec.command.join(" ").slice(0, 200);
  const meaning = {
    ...{ operation: `run ${command}`, signal, container: id },
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
      Env: Object.entries(spec.env ?? {}).map(([name, value]) => `${name}=${value}`),
      ...abortSignalOption(ending),
    }),
  );
  const { ContainerID } = await call(meaning, (ending) => exec.inspect({ ...abortSignalOption(ending) }));
  const starting = { ...meaning, operation: `start ${command}` };
  await using undo = new AsyncDisposableStack();
  undo.use(await gate.lockForStart(ContainerID, signal));
  // The container may have ended since the previous call; the engine then fails this call.
  const socket: Duplex = await call(starting, (ending) =>
    exec.start({ hijack: true, stdin: spec.input, Tty: terminal, ...abortSignalOption(ending) }),
  );
  const passed = undo.move();
  // The engine answers before the program has started. Hold the gate until the program has started, even if
  // the caller aborts meanwhile.
  void call({ ...starting, signal: undefined }, (ending) => hasBegun({ exec, socket }, ending))
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
    ...{ exec, socket, command },

    async write(bytes) {
      if (socket.destroyed || !socket.writable) return;
      if (!socket.write(bytes)) await drainedOrClosed(socket);
    },

    translated: (error) =>
      translateEngineFailure(endpoint, { operation: `read the output of ${command}`, signal }, error),

    exit: () => exitOf({ docker, exec, id }, signal),

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
async function hasBegun(
  { exec, socket }: { readonly exec: Docker.Exec; readonly socket: Duplex },
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = shortestMs; ; waitMs = Math.min(maxMs, 2 * waitMs)) {
    const { Running, Pid, ExitCode } = await exec.inspect({ ...abortSignalOption(signal) });
    if (Pid !== 0 || ExitCode !== null || (!Running && socket.destroyed)) return;
    await delay(waitMs, undefined, { signal });
  }
}

/**
 * Resolves when the socket can accept more bytes, or when it closes. A caller notices a closed socket when
 * it reads the program's output or exit code.
 */
function drainedOrClosed(socket: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const goOn = (): void => {
    socket.off("drain", goOn).off("close", goOn);
    resolve();
  };
  socket.on("drain", goOn).on("close", goOn);
  return promise;
}

/**
 * Polls the engine for the program's exit code, which the engine sets shortly after it closes the output
 * stream. If the container has ended, the engine may never set the exit code.
 */
async function exitOf(
  { docker, exec, id }: { docker: Docker; exec: Docker.Exec; id: string },
  signal?: AbortSignal,
): Promise<ExecExit> {
  try {
    for (const end = performance.now() + settleMs; ; await delay(10)) {
      const { Running, ExitCode } = await exec.inspect({ ...abortSignalOption(signal) });
      if (!Running) {
        const state = await stateAfter({ docker, id, exitCode: ExitCode ?? 0 }, signal);
        if (state !== null) return { kind: "lost", reason: `the container is ${state}` };
        return { kind: "exited", code: ExitCode ?? 0 };
      }
      if (performance.now() > end)
        return { kind: "lost", reason: "the program's streams are closed, but the program still runs" };
    }
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "lost", reason: (error as Error).message.trim().slice(0, 200) };
  }
}

/**
 * Returns the container's state if the container ended together with the program; null if the container
 * still runs. After a kill, polls for a while, because the engine reports a program's end before its
 * container's end.
 */
async function stateAfter(
  { docker, id, exitCode }: { docker: Docker; id: string; exitCode: number },
  signal?: AbortSignal,
): Promise<string | null> {
  for (const end = performance.now() + dyingMs; ; await delay(20)) {
    const { State } = await docker.getContainer(id).inspect({ ...abortSignalOption(signal) });
    if (!State.Running) return State.Status;
    if (exitCode !== killed || performance.now() > end) return null;
  }
}
