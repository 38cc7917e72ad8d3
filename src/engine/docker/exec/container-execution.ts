import type { ContainerExecution, ExecSpec } from "../../containers.ts";
import type { EngineConnection } from "../call-engine.ts";
import { demultiplex } from "./demultiplex.ts";
import { startExec } from "./start-exec.ts";

/**
 * Starts a program in a running container. One connection to the engine carries both the program's input and
 * its output.
 */
export async function openContainerExecution(
  connection: EngineConnection,
  id: string,
  spec: ExecSpec,
  signal?: AbortSignal,
): Promise<ContainerExecution> {
  const started = await startExec(connection, id, spec, signal);
  const { exec, socket, command } = started;
  return {
    id: exec.id,
    write: started.write,

    async endInput() {
      if (!socket.destroyed) socket.end();
    },

    output: {
      async *[Symbol.asyncIterator]() {
        try {
          yield* demultiplex(socket, command);
        } catch (error) {
          throw started.translated(error);
        }
        signal?.throwIfAborted();
      },
    },

    exit: started.exit,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
