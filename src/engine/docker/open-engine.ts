import type { ConnectedEngine } from "../engine.ts";
import { dockerImages } from "./build/docker-images.ts";
import { createEngineCaller, type EngineCallerDeps, type EngineConnection } from "./call-engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { createDockerodeClient } from "./dockerode-client.ts";

/** Functions that act on this machine without the engine's API, such as locking and killing processes. */
export type EngineHostFunctions = Pick<EngineConnection, "gate"> &
  Pick<EngineCallerDeps, "killStartingPrograms">;

/**
 * Opens the engine at the given endpoint through dockerode, and returns its operations on containers,
 * images, networks and volumes.
 */
export function openDockerEngine(
  endpoint: string,
  { gate, killStartingPrograms }: EngineHostFunctions,
): ConnectedEngine {
  const docker = createDockerodeClient(endpoint);
  const call = createEngineCaller({ docker, endpoint, killStartingPrograms });
  const connection = { docker, endpoint, gate, call };
  return {
    containers: dockerContainers(connection),
    images: dockerImages(connection),
    networks: dockerNetworks(connection),
    volumes: dockerVolumes(connection),
  };
}
