import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import type { TerminalSession, TerminalSize, TerminalSpec } from "../../containers.ts";
import type { EngineConnection } from "../call-engine.ts";
import { httpStatusOf } from "../translate-failure.ts";
import { startExec } from "./start-exec.ts";

/**
 * The maximum number of attempts to resize a terminal. The first attempts can fail, because the engine
 * reports a program as started before the program's terminal exists.
 */
const resizes = 20;
const againMs = 25;
const lookEveryMs = 1_000;
/** The time in milliseconds to wait for a program's remaining output after the program has ended. */
const outputGraceMs = 300;

/** Starts a program with its own terminal (TTY) in a running container. */
export async function openTerminal(
  connection: EngineConnection,
  id: string,
  { columns, rows, ...spec }: TerminalSpec,
  signal?: AbortSignal,
): Promise<TerminalSession> {
  const started = await startExec(connection, id, { ...spec, input: true, terminal: true }, signal);
  let wanted: TerminalSize = { columns, rows };

  /**
   * Resizes the terminal. If all attempts fail, ignores the error, because a terminal of the wrong size is
   * still usable.
   */
  const resize = async (size: TerminalSize): Promise<void> => {
    wanted = size;
    for (let tries = 0; tries < resizes && !started.socket.destroyed && wanted === size; tries += 1) {
      const isDone = await started.exec
        .resize({ w: size.columns, h: size.rows, ...(signal && { abortSignal: signal }) })
        .then(
          () => true,
          () => false,
        );
      if (isDone) return;
      await delay(againMs);
    }
  };
  await resize(wanted);

  return {
    write: started.write,
    resize,
    output: {
      async *[Symbol.asyncIterator]() {
        const { socket } = started;
        const reading = new AbortController();
        let hasEnded = false;
        void endOf(connection.docker.getContainer(id), started.exec, reading.signal).then((isOver) => {
          if (!isOver) return;
          hasEnded = true;
          socket.destroy();
        });
        try {
          for await (const bytes of socket) yield bytes as Uint8Array;
        } catch (error) {
          if (!hasEnded) throw started.translated(error);
        } finally {
          reading.abort();
        }
        signal?.throwIfAborted();
      },
    },
    exit: started.exit,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

/**
 * Resolves with true when the program or its container has ended, or with false when the caller stops
 * reading. Polls the engine, because some runtimes leave the connection open after the container has ended.
 */
async function endOf(container: Docker.Container, exec: Docker.Exec, reading: AbortSignal): Promise<boolean> {
  const wait = (ms: number): Promise<unknown> => delay(ms, null, { signal: reading }).catch(() => null);
  for (;;) {
    await wait(lookEveryMs);
    if (reading.aborted) return false;
    if (await isRunning()) continue;
    await wait(outputGraceMs);
    return !reading.aborted;
  }

  async function isRunning(): Promise<boolean> {
    try {
      const { Running } = await exec.inspect({ abortSignal: reading });
      const { State } = await container.inspect({ abortSignal: reading });
      return Running && State.Running;
    } catch (error) {
      // HTTP 404 means that the program or the container is gone. At other errors, assume that the program
      // runs: if the engine is gone, the connection itself fails.
      return httpStatusOf(error) !== 404;
    }
  }
}
