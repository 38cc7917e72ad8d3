import type { ConnectedEngine } from "../ports/engine.ts";
import type { ContainerPauseLock } from "../ports/pause-gate.ts";
import { createEngineCaller } from "./call-engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerImages } from "./docker-images.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { createDockerodeClient } from "./dockerode-at.ts";

/** Functions outside the engine's API that the engine's code calls on this machine. */
export interface EngineHostFunctions {
  readonly gate: ContainerPauseLock;
  /**
   * Kills the runtime processes that are starting a program in a container. Returns how many were killed: 0
   * if this process must not kill them.
   */
  readonly killStartingPrograms: (containerId: string) => Promise<number>;
}

/** Returns the operations of an engine that need dockerode. */
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
