import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { isError, SwarmError } from "../domain/errors.ts";
import type { ContainerSpec, Containers } from "../ports/containers.ts";
import { findBreaches } from "./container-breaches.ts";
import { factsOf, statsOf } from "./container-facts.ts";
import { containerOptions } from "./container-options.ts";
import { demultiplex } from "./demultiplex.ts";
import { until } from "./dockerode-at.ts";
import { engineEvents } from "./engine-events.ts";
import { openExecution } from "./execution.ts";
import { limiter } from "./limiter.ts";
import { openTerminal } from "./open-terminal.ts";
import { openPauseGate } from "./pause-gate.ts";
import { programsBegun } from "./programs-begun.ts";
import { refuseSpec } from "./refuse-spec.ts";
import { splitTag } from "./split-tag.ts";
import { type CallEngine, reasonOf, translateFailure } from "./translate-failure.ts";

export interface DockerDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  readonly call: CallEngine;
}

const cleanUpMs = 15_000;
/** How often a removal is looked at that another one has begun. */
const lookAgainMs = 100;

/** The containers of a Docker-compatible engine. */
export function dockerContainers(deps: DockerDeps): Containers {
  const { docker, endpoint, call } = deps;
  const inspectEngine = rememberSuccess(() => docker.info());
  const tellAboutItself = (signal?: AbortSignal) =>
    call({ operation: "tell about itself", signal }, inspectEngine);
  const limited = limiter(async () => 2 * Math.max(1, Number((await tellAboutItself()).NCPU)));
  const about = (id: string, operation: string, signal?: AbortSignal) => ({
    operation,
    signal,
    missing: () => new SwarmError("CONTAINER_GONE", { id }),
    conflicting: (state: string) => new SwarmError("CONTAINER_NOT_RUNNING", { id, state: stateIn(state) }),
  });
  const remove = (id: string, signal?: AbortSignal): Promise<void> =>
    call({ operation: `remove the container ${id}`, signal }, () => removeContainer(docker, id, signal));

  const createOnce = async (
    spec: ContainerSpec,
    diskEnforced: boolean,
    signal?: AbortSignal,
  ): Promise<string> => {
    const meaning = {
      operation: `create the container ${spec.name}`,
      missing: () =>
        new SwarmError("IMAGE_NOT_FOUND", { image: spec.image, reason: "it is not on this engine" }),
      conflicting: () => new SwarmError("NAME_TAKEN", { name: spec.name }),
      unacceptable: (reason: string) =>
        new SwarmError("UNSUPPORTED_BY_ENGINE", { what: `the container ${spec.name}`, reason }),
      signal,
    };
    const options = containerOptions(spec, { diskEnforced });
    const { id } = await limited(
      () => call(meaning, () => docker.createContainer({ ...options, ...until(signal) })),
      { signal },
    );
    return id;
  };

  const gate = openPauseGate();
  /** The container of this name, when it is the one that is meant. */
  const findSame = async (spec: ContainerSpec): Promise<Docker.ContainerInspectInfo | null> => {
    const found = await docker
      .getContainer(spec.name)
      .inspect({ ...until(AbortSignal.timeout(cleanUpMs)) })
      .catch(() => null);
    const isSame = Object.entries(spec.labels).every(
      ([label, value]) => found?.Config.Labels?.[label] === value,
    );
    return isSame ? found : null;
  };

  return {
    async create(spec, signal) {
      refuseSpec(spec);
      const diskEnforced = canLimitDisk(
        await call({ operation: "tell about itself", signal }, inspectEngine),
      );
      let id: string;
      let isNew = true;
      try {
        id = await createOnce(spec, diskEnforced, signal);
      } catch (error) {
        const same = isError(error, "NAME_TAKEN") ? await findSame(spec) : null;
        if (same === null) {
          // The engine may have made it before the call was given up or its answer was lost.
          if (signal?.aborted || isError(error, "ENGINE_UNREACHABLE")) await removeUnstarted(spec);
          throw error;
        }
        id = same.Id;
        isNew = false;
      }
      try {
        const made = await call(about(id, `inspect ${spec.name}`, signal), () =>
          docker.getContainer(id).inspect({ ...until(signal) }),
        );
        const breaches = findBreaches(made, spec, {
          limitsSwap: (await tellAboutItself(signal)).SwapLimit !== false,
        });
        if (breaches.length > 0) throw new SwarmError("CONTAINER_REFUSED", { name: spec.name, breaches });
      } catch (error) {
        // By its id: whoever changed the rest of it may have changed its name and labels too.
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
            await docker.getContainer(id).start({ ...until(signal) });
          } catch (error) {
            // It runs already.
            if ((error as { statusCode?: number }).statusCode === 304) return;
            const translated = translateFailure(endpoint, about(id, `start ${id}`, signal), error);
            if (!(translated instanceof SwarmError) || translated.code !== "ENGINE_FAILED") throw translated;
            throw new SwarmError("CONTAINER_START_FAILED", { name: id, reason: reasonOf(error) }, error);
          }
        },
        { isFirst: true, signal },
      );
    },

    async stop(id, { graceMs }, signal) {
      await call(about(id, `stop ${id}`, signal), () =>
        docker
          .getContainer(id)
          .stop({ t: Math.ceil(graceMs / 1000), ...until(signal) })
          .catch(unless(304)),
      );
    },

    async pause(id, signal) {
      await gate.alone(async () => {
        await programsBegun(docker, id, signal);
        await call(about(id, `pause ${id}`, signal), () =>
          docker.getContainer(id).pause({ ...until(signal) }),
        );
      });
    },

    async unpause(id, signal) {
      await call(about(id, `unpause ${id}`, signal), () =>
        docker.getContainer(id).unpause({ ...until(signal) }),
      );
    },

    remove,

    async look(id, { withDisk } = { withDisk: false }, signal) {
      return call({ operation: `inspect ${id}`, signal }, async () => {
        const found = await docker
          .getContainer(id)
          .inspect({ ...until(signal), ...(withDisk && { size: true }) } as object)
          .catch(unless(404));
        return found ? factsOf(found) : null;
      });
    },

    exec: (id, spec, signal) => gate.pass(() => openExecution(deps, { id, spec }, signal)),
    openTerminal: (id, spec, signal) => gate.pass(() => openTerminal(deps, { id, spec }, signal)),

    async copyIn(id, path, archive, signal) {
      const source = Readable.from(archive, { objectMode: false });
      const meaning = { ...about(id, `copy files into ${id}`, signal), missing: () => fileMissing(path) };
      try {
        await call(meaning, () =>
          docker
            .getContainer(id)
            .putArchive(source, { path, noOverwriteDirNonDir: "true", ...until(signal) }),
        );
      } catch (error) {
        // An archive that cannot be read ends the request, and is the reason to tell.
        throw source.errored ?? error;
      } finally {
        source.destroy();
      }
    },

    async *copyOut(id, path, signal) {
      const meaning = { ...about(id, `copy ${path} out of ${id}`, signal), missing: () => fileMissing(path) };
      const archive = await call(meaning, () =>
        docker.getContainer(id).getArchive({ path, ...until(signal) }),
      );
      yield* readThrough(archive, endpoint, meaning);
    },

    async *logs(id, { follow }, signal) {
      const meaning = about(id, `read the log of ${id}`, signal);
      const log = await call(meaning, async () => {
        const options = { stdout: true, stderr: true, ...until(signal) };
        if (follow) return docker.getContainer(id).logs({ ...options, follow });
        return [(await docker.getContainer(id).logs({ ...options, follow })) as unknown as Uint8Array];
      });
      yield* demultiplex(
        readThrough(log as AsyncIterable<Uint8Array>, endpoint, meaning),
        `the log of ${id}`,
      );
    },

    async stats(id, signal) {
      const stats = await call(about(id, `measure ${id}`, signal), () =>
        docker.getContainer(id).stats({ stream: false, ...until(signal) }),
      );
      return statsOf(stats);
    },

    async commit(id, { tag, labels }, signal) {
      const container = docker.getContainer(id);
      const { HostConfig } = await call(about(id, `inspect ${id}`, signal), () => container.inspect());
      if (/runsc|gvisor|kata/.test(HostConfig.Runtime ?? ""))
        throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
          what: "an image of this container",
          reason: `the runtime ${HostConfig.Runtime} may keep what was written to itself`,
        });
      const changes = Object.entries(labels).map(
        ([name, value]) => `LABEL "${name}"=${JSON.stringify(value)}`,
      );
      const [repo, name] = splitTag(tag);
      const { Id } = await call(about(id, `make an image of ${id}`, signal), () =>
        container.commit({
          repo,
          tag: name,
          ...(changes.length > 0 && { changes: changes.join("\n") }),
          pause: true,
          ...until(signal),
        }),
      );
      return String(Id);
    },

    events: (labels, signal) => engineEvents(deps, labels, signal),
  };

  /** One that was there before and has run may hold work. */
  async function removeUnstarted(spec: ContainerSpec): Promise<void> {
    const found = await findSame(spec);
    if (found?.State.Status === "created") await removeNow(found.Id);
  }

  /** Cleaning up is not cancelled with the work. */
  async function removeNow(id: string): Promise<void> {
    await removeContainer(docker, id, AbortSignal.timeout(cleanUpMs)).catch(() => {});
  }
}

/** Removing what is gone succeeds; what another one removes right now is waited for, or its volumes would still be in use. */
async function removeContainer(docker: Docker, id: string, signal?: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await docker.getContainer(id).remove({ force: true, v: true, ...until(signal) });
      return;
    } catch (error) {
      const { statusCode, message = "" } = error as { statusCode?: number; message?: string };
      if (statusCode === 404) return;
      if (statusCode !== 409 || !/already in progress/.test(message)) throw error;
    }
    await delay(lookAgainMs, null, { signal });
  }
}

/** `--storage-opt size` is refused by overlay on ext4; these can. */
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

/** `Container 1ab… is paused` → `paused`. */
function stateIn(reason: string): string {
  return /is (?:already )?(\w+)[^ ]*$/.exec(reason.split(",")[0] ?? "")?.[1] ?? "ended or not started";
}

async function* readThrough(
  stream: AsyncIterable<string | Uint8Array> | NodeJS.ReadableStream,
  endpoint: string,
  meaning: { readonly operation: string; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of stream) yield bytes as Uint8Array;
  } catch (error) {
    throw translateFailure(endpoint, meaning, error);
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
