import type { OpenEngine } from "../ports/engine.ts";
import type { ContainerPauseLock } from "../ports/pause-gate.ts";
import { createEngineCaller } from "./call-engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerImages } from "./docker-images.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { dockerodeAt } from "./dockerode-at.ts";

/** Functions of the host that the engine's code needs. */
export interface EngineHostFunctions {
  readonly gate: ContainerPauseLock;
  /**
   * Kills the programs that are just starting in a container, if this process may do so. Returns how many it
   * killed.
   */
  readonly killStartingPrograms: (containerId: string) => Promise<number>;
}

/** Opens the functions of an engine that need dockerode. */
export function openDockerEngine(
  endpoint: string,
  { gate, killStartingPrograms }: EngineHostFunctions,
): OpenEngine {
  const docker = dockerodeAt(endpoint);
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
