import type { ContainerPauseLock } from "../../machine/pause-lock.ts";
import type { ConnectedEngine } from "../engine.ts";
import { dockerImages } from "./build/docker-images.ts";
import { createEngineCaller, type KillStartingPrograms } from "./call-engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { createDockerodeClient } from "./dockerode-client.ts";

/** Functions that act on this machine without the engine's API, such as locking and killing processes. */
export interface EngineHostFunctions {
  readonly gate: ContainerPauseLock;
  /**
   * Kills the container runtime's processes (such as `runc exec`) that are starting a program in the given
   * container. Returns the number of killed processes, or 0 if the engine runs on another machine or as
   * another user.
   */
  readonly killStartingPrograms: KillStartingPrograms;
}

/**
 * Opens the engine at the given endpoint through dockerode, and returns its operations on containers,
 * images, networks and volumes.
 */
export function openDockerEngine(
  endpoint: string,
  { gate, killStartingPrograms }: EngineHostFunctions,
): ConnectedEngine {
  const docker = createDockerodeClient(endpoint);
  const deps = {
    docker,
    endpoint,
    gate,
    call: createEngineCaller({ docker, endpoint, killStartingPrograms }),
  };
  return {
    containers: dockerContainers(deps),
    images: dockerImages(deps),
    networks: dockerNetworks(deps),
    volumes: dockerVolumes(deps),
  };
}
