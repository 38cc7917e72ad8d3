import { Readable } from "node:stream";
import { isError, SwarmError } from "../../errors/errors.ts";
import { once } from "../../text/once.ts";
import type { Containers } from "../containers.ts";
import { splitImageTag } from "./build/split-tag.ts";
import { callContainer, describeContainerCall } from "./call-container.ts";
import type { EngineConnection } from "./call-engine.ts";
import { createConcurrencyLimiter } from "./concurrency-limiter.ts";
import { toContainerFacts, toContainerStats } from "./container-facts.ts";
import { containerCreator } from "./create-container.ts";
import { engineEvents } from "./engine-events.ts";
import { openContainerExecution } from "./exec/container-execution.ts";
import { demultiplex } from "./exec/demultiplex.ts";
import { freezeWhenNoProgramStarts } from "./exec/freeze-container.ts";
import { openTerminal } from "./exec/open-terminal.ts";
import { labelInstructions } from "./label-filter.ts";
import { removeContainer } from "./remove-container.ts";
import { engineErrorMessage, nullIfStatus, translateEngineFailure } from "./translate-failure.ts";

/** The time limit in milliseconds of calls that can be slow, such as starting a sandbox on a busy machine. */
const slowMs = 120_000;
/** The time limit in milliseconds of calls that copy or remove many files. */
const longMs = 600_000;

/** Creates the operations on the containers of a Docker-compatible engine. */
export function dockerContainers(connection: EngineConnection): Containers {
  const { docker, call } = connection;
  const inspectEngine = once(() => docker.info());
  const engineInfo = (signal?: AbortSignal) =>
    call({ operation: "report system information", signal }, inspectEngine);
  const limited = createConcurrencyLimiter(async () => 2 * Math.max(1, Number((await engineInfo()).NCPU)));

  return {
    ...containerFiles(connection),
    create: containerCreator(connection, engineInfo, limited),

    start: (id, signal) =>
      limited(() => startContainer(connection, id, signal), { isPriority: true, signal }),

    async stop(id, { graceMs }, signal) {
      const limitMs = graceMs + slowMs;
      await callContainer(connection, id, "stop the container", { signal, limitMs }, (container, ending) =>
        container.stop({ t: Math.ceil(graceMs / 1000), ...ending }).catch(nullIfStatus(304)),
      );
    },

    async pause(id, signal) {
      await callContainer(connection, id, "pause the container", { signal }, (_, ending) =>
        freezeWhenNoProgramStarts(connection, id, (container) => container.pause(ending), ending),
      );
    },

    async unpause(id, signal) {
      await callContainer(connection, id, "unpause the container", { signal }, (container, ending) =>
        container
          .unpause(ending)
          // Ignore an error if the container is not paused: another client or the engine itself has unfrozen
          // the container meanwhile, perhaps before the engine recorded that.
          .catch((error: unknown) => {
            if (!/is not paused|cannot resume a running process/.test(engineErrorMessage(error))) throw error;
          }),
      );
    },

    remove: (id, signal) =>
      call({ operation: `remove the container ${id}`, signal, container: id, limitMs: longMs }, (ending) =>
        removeContainer(docker, id, ending),
      ),

    inspect: (id, { withDisk } = { withDisk: false }, signal) =>
      call(
        {
          operation: `inspect the container ${id}`,
          signal,
          container: id,
          ...(withDisk && { limitMs: slowMs, isForFrozen: true }),
        },
        async (ending) => {
          const found = await docker
            .getContainer(id)
            .inspect({ ...ending, ...(withDisk && { size: true }) } as object)
            .catch(nullIfStatus(404));
          return found && toContainerFacts(found);
        },
      ),

    exec: (id, spec, signal) => openContainerExecution(connection, id, spec, signal),
    openTerminal: (id, spec, signal) => openTerminal(connection, id, spec, signal),

    async stats(id, signal) {
      return toContainerStats(
        await callContainer(
          connection,
          id,
          "read the resource usage of the container",
          { signal },
          (container, ending) => container.stats({ stream: false, ...ending }),
        ),
      );
    },

    events: (labels, signal) => engineEvents(connection, labels, signal),
  };
}

async function startContainer(
  connection: EngineConnection,
  id: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = { signal, limitMs: slowMs };
  try {
    await callContainer(connection, id, "start the container", options, (container, ending) =>
      // Ignore HTTP 304: the container runs already.
      container.start(ending).catch(nullIfStatus(304)),
    );
  } catch (error) {
    if (!isError(error, "ENGINE_FAILED")) throw error;
    const reason = engineErrorMessage(error.cause ?? error);
    throw new SwarmError("CONTAINER_START_FAILED", { name: id, reason }, error.cause);
  }
}

/** Creates the operations that read or write the files and the log of a container. */
function containerFiles(
  connection: EngineConnection,
): Pick<Containers, "copyIn" | "copyOut" | "logs" | "commit"> {
  const { docker, endpoint, call } = connection;
  return {
    async copyIn(id, path, archive, signal) {
      const source = Readable.from(archive, { objectMode: false });
      try {
        await callContainer(
          connection,
          id,
          "copy files into the container",
          { missing: () => fileMissing(path), signal, limitMs: longMs, isForFrozen: true },
          (container, ending) =>
            container.putArchive(source, { path, noOverwriteDirNonDir: "true", ...ending }),
        );
      } catch (error) {
        // If reading the archive fails, the request ends too. Report the archive's error, which is the cause.
        throw source.errored ?? error;
      } finally {
        source.destroy();
      }
    },

    async *copyOut(id, path, signal) {
      const meaning = {
        ...describeContainerCall(id, `copy ${path} out of the container`, signal),
        missing: () => fileMissing(path),
      };
      const archive = await call({ ...meaning, limitMs: slowMs, isForFrozen: true }, (ending) =>
        docker.getContainer(id).getArchive({ path, ...ending }),
      );
      yield* readThrough(archive, endpoint, meaning);
    },

    async *logs(id, { follow }, signal) {
      const meaning = describeContainerCall(id, "read the log of the container", signal);
      const log = await call(meaning, async (ending) => {
        const options = { stdout: true, stderr: true, ...ending };
        if (follow) return docker.getContainer(id).logs({ ...options, follow });
        return [(await docker.getContainer(id).logs({ ...options, follow })) as unknown as Uint8Array];
      });
      yield* demultiplex(
        readThrough(log as AsyncIterable<Uint8Array>, endpoint, meaning),
        `the log of the container ${id}`,
      );
    },

    async commit(id, { tag, labels }, signal) {
      const [repo, name] = splitImageTag(tag);
      const { HostConfig } = await callContainer(
        connection,
        id,
        "inspect the container",
        { signal },
        (container, ending) => container.inspect(ending),
      );
      if (/runsc|gvisor|kata/.test(HostConfig.Runtime ?? ""))
        throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
          what: "a new image from the container's current files",
          reason: `with the runtime ${HostConfig.Runtime}, the engine may not see all file changes in the container`,
        });
      const changes = labelInstructions(labels).join("\n");
      const { Id } = await callContainer(
        connection,
        id,
        "create an image from the container",
        { signal, limitMs: longMs, isForFrozen: true },
        (container, ending) =>
          // The engine freezes the container during a commit.
          freezeWhenNoProgramStarts(
            connection,
            id,
            () => container.commit({ repo, tag: name, pause: true, ...(changes && { changes }), ...ending }),
            ending,
          ),
      );
      return String(Id);
    },
  };
}

function fileMissing(path: string): SwarmError {
  return new SwarmError("FILE_NOT_FOUND", { path });
}

async function* readThrough(
  stream: AsyncIterable<string | Uint8Array> | NodeJS.ReadableStream,
  endpoint: string,
  meaning: { readonly operation: string; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of stream) yield bytes as Uint8Array;
  } catch (error) {
    throw translateEngineFailure(endpoint, meaning, error);
  }
  meaning.signal?.throwIfAborted();
}
