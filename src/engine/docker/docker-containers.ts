import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { ContainerPauseLock } from "../../machine/pause-lock.ts";
import type { ContainerSpec, Containers } from "../containers.ts";
import { splitImageTag } from "./build/split-tag.ts";
import type { EngineCaller } from "./call-engine.ts";
import { createConcurrencyLimiter } from "./concurrency-limiter.ts";
import { findConfinementBreaches } from "./confinement-breaches.ts";
import { toContainerFacts, toContainerStats } from "./container-facts.ts";
import { containerOptions } from "./container-options.ts";
import { abortSignalOption } from "./dockerode-client.ts";
import { engineEvents } from "./engine-events.ts";
import { openContainerExecution } from "./exec/container-execution.ts";
import { demultiplex } from "./exec/demultiplex.ts";
import { freezeWhenNoProgramStarts } from "./exec/freeze-container.ts";
import { openTerminal } from "./exec/open-terminal.ts";
import { refuseUnsafeContainerSpec } from "./refuse-unsafe-spec.ts";
import { chooseSeccompProfile } from "./seccomp/seccomp-profile.ts";
import { engineErrorMessage, translateEngineFailure } from "./translate-failure.ts";

export interface DockerContainersDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  readonly call: EngineCaller;
  readonly gate: ContainerPauseLock;
}

const cleanUpMs = 15_000;
/**
 * The interval in milliseconds between two attempts to remove a container that another client is also
 * removing.
 */
const retryMs = 100;
/** The time limit in milliseconds of calls that can be slow, such as starting a sandbox on a busy machine. */
const slowMs = 120_000;
/** The time limit in milliseconds of calls that copy or remove many files. */
const longMs = 600_000;

/** Creates the operations on the containers of a Docker-compatible engine. */
export function dockerContainers(deps: DockerContainersDeps): Containers {
  const { docker, endpoint, call, gate } = deps;
  const inspectEngine = rememberSuccess(() => docker.info());
  const engineInfo = (signal?: AbortSignal) =>
    call({ operation: "report system information", signal }, inspectEngine);
  const limited = createConcurrencyLimiter(async () => 2 * Math.max(1, Number((await engineInfo()).NCPU)));
  const about = (id: string, operation: string, signal?: AbortSignal) => ({
    ...{ operation, signal, container: id },
    missing: () => new SwarmError("CONTAINER_GONE", { id }),
    conflicting: (state: string) => new SwarmError("CONTAINER_NOT_RUNNING", { id, state: stateIn(state) }),
  });
  const remove = (id: string, signal?: AbortSignal): Promise<void> =>
    call(
      { operation: `remove the container ${id}`, ...{ signal, container: id, limitMs: longMs } },
      (ending) => removeContainer(docker, id, ending),
    );

  const createOnce = async (
    spec: ContainerSpec,
    how: Parameters<typeof containerOptions>[1],
    signal?: AbortSignal,
  ): Promise<string> => {
    const meaning = {
      operation: `create the container ${spec.name}`,
      missing: () =>
        new SwarmError("IMAGE_NOT_FOUND", {
          image: spec.image,
          reason: "the engine does not have the image",
        }),
      conflicting: () => new SwarmError("NAME_TAKEN", { name: spec.name }),
      unacceptable: (reason: string) =>
        new SwarmError("UNSUPPORTED_BY_ENGINE", { what: `the container ${spec.name}`, reason }),
      signal,
    };
    const options = containerOptions(spec, how);
    const { id } = await limited(
      () => call(meaning, (ending) => docker.createContainer({ ...options, ...abortSignalOption(ending) })),
      { signal },
    );
    return id;
  };

  /**
   * Finds an existing container that has the name and the labels of the given spec; returns null if there is
   * none.
   */
  const findSame = async (spec: ContainerSpec): Promise<Docker.ContainerInspectInfo | null> => {
    const found = await docker
      .getContainer(spec.name)
      .inspect({ ...abortSignalOption(AbortSignal.timeout(cleanUpMs)) })
      .catch(() => null);
    const isSame = Object.entries(spec.labels).every(
      ([label, value]) => found?.Config.Labels?.[label] === value,
    );
    return isSame ? found : null;
  };

  return {
    async create(spec, signal) {
      refuseUnsafeContainerSpec(spec);
      const info = await engineInfo(signal);
      const diskEnforced = canLimitDisk(info);
      const profile = spec.privileged ? null : chooseSeccompProfile(info, spec);
      let id: string;
      let isNew = true;
      try {
        id = await createOnce(spec, { diskEnforced, profile }, signal);
      } catch (error) {
        const same = isError(error, "NAME_TAKEN") ? await findSame(spec) : null;
        if (same === null) {
          // The engine may have created the container before the call was aborted or the answer was lost.
          if (signal?.aborted || isError(error, "ENGINE_UNREACHABLE")) await removeUnstarted(spec);
          throw error;
        }
        id = same.Id;
        isNew = false;
      }
      try {
        const made = await call(about(id, `inspect the container ${spec.name}`, signal), (ending) =>
          docker.getContainer(id).inspect({ ...abortSignalOption(ending) }),
        );
        const breaches = findConfinementBreaches(made, spec, {
          limitsSwap: info.SwapLimit !== false,
          profile: isNew ? profile : null,
        });
        if (breaches.length > 0) throw new SwarmError("CONTAINER_REFUSED", { name: spec.name, breaches });
      } catch (error) {
        // Remove the container by its ID: the plugin or client that changed it may have changed its name and
        // labels too.
        if (isNew) await removeNow(id);
        else if (isError(error, "CONTAINER_REFUSED")) await removeUnstarted(spec);
        throw error;
      }
      return { id, diskLimit: diskEnforced ? "enforced" : "watched" };
    },

    async start(id, signal) {
      await limited(
        async () => {
          try {
            await call({ ...about(id, `start the container ${id}`, signal), limitMs: slowMs }, (ending) =>
              docker
                .getContainer(id)
                .start({ ...abortSignalOption(ending) })
                // Ignore HTTP 304: the container runs already.
                .catch(unless(304)),
            );
          } catch (error) {
            if (!isError(error, "ENGINE_FAILED")) throw error;
            const reason = engineErrorMessage(error.cause ?? error);
            throw new SwarmError("CONTAINER_START_FAILED", { name: id, reason }, error.cause);
          }
        },
        { isPriority: true, signal },
      );
    },

    async stop(id, { graceMs }, signal) {
      const meaning = { ...about(id, `stop the container ${id}`, signal), limitMs: graceMs + slowMs };
      await call(meaning, (ending) =>
        docker
          .getContainer(id)
          .stop({ t: Math.ceil(graceMs / 1000), ...abortSignalOption(ending) })
          .catch(unless(304)),
      );
    },

    async pause(id, signal) {
      await call(about(id, `pause the container ${id}`, signal), (ending) =>
        freezeWhenNoProgramStarts(
          { docker, gate },
          id,
          (container) => container.pause({ ...abortSignalOption(ending) }),
          ending,
        ),
      );
    },

    async unpause(id, signal) {
      await call(about(id, `unpause the container ${id}`, signal), (ending) =>
        docker
          .getContainer(id)
          .unpause({ ...abortSignalOption(ending) })
          // Ignore an error if the container is not paused: another client or the engine itself has unfrozen
          // the container meanwhile, perhaps before the engine recorded that.
          .catch((error: unknown) => {
            if (!/is not paused|cannot resume a running process/.test(engineErrorMessage(error))) throw error;
          }),
      );
    },

    remove,

    async inspect(id, { withDisk } = { withDisk: false }, signal) {
      const meaning = {
        ...{ operation: `inspect the container ${id}`, signal, container: id },
        ...(withDisk && { limitMs: slowMs, isForFrozen: true }),
      };
      return call(meaning, async (ending) => {
        const found = await docker
          .getContainer(id)
          .inspect({ ...abortSignalOption(ending), ...(withDisk && { size: true }) } as object)
          .catch(unless(404));
        return found ? toContainerFacts(found) : null;
      });
    },

    exec: (id, spec, signal) => openContainerExecution(deps, { id, spec }, signal),
    openTerminal: (id, spec, signal) => openTerminal(deps, { id, spec }, signal),

    async copyIn(id, path, archive, signal) {
      const source = Readable.from(archive, { objectMode: false });
      const meaning = {
        ...about(id, `copy files into the container ${id}`, signal),
        ...{ missing: () => fileMissing(path), limitMs: longMs, isForFrozen: true },
      };
      try {
        await call(meaning, (ending) =>
          docker
            .getContainer(id)
            .putArchive(source, { path, noOverwriteDirNonDir: "true", ...abortSignalOption(ending) }),
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
        ...about(id, `copy ${path} out of the container ${id}`, signal),
        missing: () => fileMissing(path),
      };
      const archive = await call({ ...meaning, limitMs: slowMs, isForFrozen: true }, (ending) =>
        docker.getContainer(id).getArchive({ path, ...abortSignalOption(ending) }),
      );
      yield* readThrough(archive, endpoint, meaning);
    },

    async *logs(id, { follow }, signal) {
      const meaning = about(id, `read the log of the container ${id}`, signal);
      const log = await call(meaning, async (ending) => {
        const options = { stdout: true, stderr: true, ...abortSignalOption(ending) };
        if (follow) return docker.getContainer(id).logs({ ...options, follow });
        return [(await docker.getContainer(id).logs({ ...options, follow })) as unknown as Uint8Array];
      });
      yield* demultiplex(
        readThrough(log as AsyncIterable<Uint8Array>, endpoint, meaning),
        `the log of the container ${id}`,
      );
    },

    async stats(id, signal) {
      const stats = await call(
        about(id, `read the resource usage of the container ${id}`, signal),
        (ending) => docker.getContainer(id).stats({ stream: false, ...abortSignalOption(ending) }),
      );
      return toContainerStats(stats);
    },

    async commit(id, { tag, labels }, signal) {
      const [repo, name] = splitImageTag(tag);
      const container = docker.getContainer(id);
      const { HostConfig } = await call(about(id, `inspect the container ${id}`, signal), (ending) =>
        container.inspect({ ...abortSignalOption(ending) }),
      );
      if (/runsc|gvisor|kata/.test(HostConfig.Runtime ?? ""))
        throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
          what: "a new image from the container's current files",
          reason: `with the runtime ${HostConfig.Runtime}, the engine may not see all file changes in the container`,
        });
      const changes = Object.entries(labels).map(
        ([name, value]) => `LABEL "${name}"=${JSON.stringify(value)}`,
      );
      const options = {
        ...{ repo, tag: name, pause: true },
        ...(changes.length > 0 && { changes: changes.join("\n") }),
      };
      const meaning = {
        ...about(id, `create an image from the container ${id}`, signal),
        ...{ limitMs: longMs, isForFrozen: true },
      };
      const { Id } = await call(meaning, (ending) =>
        // The engine freezes the container during a commit.
        freezeWhenNoProgramStarts(
          { docker, gate },
          id,
          () => container.commit({ ...options, ...abortSignalOption(ending) }),
          ending,
        ),
      );
      return String(Id);
    },

    events: (labels, signal) => engineEvents(deps, labels, signal),
  };

  /**
   * Removes the container that was created from the given spec, if the container has never run. Keeps a
   * container that has run, because it may contain an agent's work.
   */
  async function removeUnstarted(spec: ContainerSpec): Promise<void> {
    const found = await findSame(spec);
    if (found?.State.Status === "created") await removeNow(found.Id);
  }

  /**
   * Removes a container even if the caller's signal is aborted, within a time limit of its own. Ignores
   * errors.
   */
  async function removeNow(id: string): Promise<void> {
    await removeContainer(docker, id, AbortSignal.timeout(cleanUpMs)).catch(() => {});
  }
}

/**
 * Removes a container; does nothing if it does not exist. If another client is removing the container, waits
 * until that removal is complete and the container's volumes are no longer in use.
 */
async function removeContainer(docker: Docker, id: string, signal?: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await docker.getContainer(id).remove({ force: true, v: true, ...abortSignalOption(signal) });
      return;
    } catch (error) {
      const { statusCode, message = "" } = error as { statusCode?: number; message?: string };
      if (statusCode === 404) return;
      if (statusCode !== 409 || !/already in progress/.test(message)) throw error;
    }
    await delay(retryMs, null, { signal });
  }
}

/**
 * Returns whether the engine's storage driver can limit a container's disk usage (`--storage-opt size`). The
 * driver `overlay2` on ext4, for example, cannot.
 */
function canLimitDisk({
  Driver,
  DriverStatus,
}: {
  Driver?: string;
  DriverStatus?: [string, string][] | null;
}): boolean {
  const backing = DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1];
  return Driver === "btrfs" || Driver === "zfs" || (Driver === "overlay2" && backing === "xfs");
}

function fileMissing(path: string): SwarmError {
  return new SwarmError("FILE_NOT_FOUND", { path });
}

function unless(status: number): (error: unknown) => null {
  return (error) => {
    if ((error as { statusCode?: number }).statusCode === status) return null;
    throw error;
  };
}

/**
 * Extracts the container's state from an error message of the engine. For example, returns `paused` for the
 * message `Container 1ab… is paused`.
 */
function stateIn(reason: string): string {
  return /is (?:already )?(\w+)[^ ]*$/.exec(reason.split(",")[0] ?? "")?.[1] ?? "ended or never started";
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

function rememberSuccess<Value>(ask: () => Promise<Value>): () => Promise<Value> {
  let answer: Value | undefined;
  return async () => {
    answer ??= await ask();
    return answer;
  };
}
