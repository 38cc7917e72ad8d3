import type Docker from "dockerode";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { ContainerSpec, Containers } from "../containers.ts";
import { callContainer } from "./call-container.ts";
import type { EngineConnection } from "./call-engine.ts";
import type { LimitedCall } from "./concurrency-limiter.ts";
import { findConfinementBreaches } from "./confinement-breaches.ts";
import { type ContainerRequest, containerOptions } from "./container-options.ts";
import { refuseUnsafeContainerSpec } from "./refuse-unsafe-spec.ts";
import { removeContainer } from "./remove-container.ts";
import { chooseSeccompProfile } from "./seccomp/seccomp-profile.ts";

const cleanUpMs = 15_000;

/** The parts of the engine's report about itself that decide how swarm creates containers. */
interface EngineReport {
  readonly Driver?: string;
  readonly DriverStatus?: [string, string][] | null;
  readonly SwapLimit?: boolean;
}

/** Returns the operation that creates a container and checks how the engine confined it. */
export function containerCreator(
  connection: EngineConnection,
  engineInfo: (signal?: AbortSignal) => Promise<EngineReport>,
  limited: LimitedCall,
): Containers["create"] {
  const { docker, call } = connection;
  const ending = () => ({ abortSignal: AbortSignal.timeout(cleanUpMs) });

  return async (spec, signal) => {
    refuseUnsafeContainerSpec(spec);
    const info = await engineInfo(signal);
    const diskEnforced = canLimitDisk(info);
    const profile = spec.privileged ? null : chooseSeccompProfile(info, spec);
    let id: string;
    let isNew = true;
    try {
      id = await limited(() => createOnce({ spec, diskEnforced, profile }, signal), { signal });
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
      const made = await callContainer(
        connection,
        id,
        "inspect the container",
        { operation: `inspect the container ${spec.name}`, signal },
        (container, ending) => container.inspect(ending),
      );
      const breaches = findConfinementBreaches(made, {
        spec,
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
  };

  async function createOnce(request: ContainerRequest, signal: AbortSignal | undefined): Promise<string> {
    const { name, image } = request.spec;
    const { id } = await call(
      {
        operation: `create the container ${name}`,
        missing: () =>
          new SwarmError("IMAGE_NOT_FOUND", { image, reason: "the engine does not have the image" }),
        conflicting: () => new SwarmError("NAME_TAKEN", { name }),
        unacceptable: (reason) =>
          new SwarmError("UNSUPPORTED_BY_ENGINE", { what: `the container ${name}`, reason }),
        signal,
      },
      (ending) => docker.createContainer({ ...containerOptions(request), ...ending }),
    );
    return id;
  }

  /**
   * Finds an existing container that has the name and the labels of the given spec; returns null if there is
   * none.
   */
  async function findSame({ name, labels }: ContainerSpec): Promise<Docker.ContainerInspectInfo | null> {
    const found = await docker
      .getContainer(name)
      .inspect(ending())
      .catch(() => null);
    const isSame = Object.entries(labels).every(([label, value]) => found?.Config.Labels?.[label] === value);
    return isSame ? found : null;
  }

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
    await removeContainer(docker, id, ending()).catch(() => {});
  }
}

/**
 * Returns whether the engine's storage driver can limit a container's disk usage (`--storage-opt size`). The
 * driver `overlay2` on ext4, for example, cannot.
 */
function canLimitDisk({ Driver, DriverStatus }: EngineReport): boolean {
  const backing = DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1];
  return Driver === "btrfs" || Driver === "zfs" || (Driver === "overlay2" && backing === "xfs");
}
