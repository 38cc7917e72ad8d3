import type { OpenEngine } from "../ports/engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerImages } from "./docker-images.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { dockerodeAt } from "./dockerode-at.ts";
import { callerFor } from "./translate-failure.ts";

/** Everything of an engine that dockerode is needed for. */
export function openDockerEngine(endpoint: string): OpenEngine {
  const deps = { docker: dockerodeAt(endpoint), endpoint, call: callerFor(endpoint) };
  return {
    containers: dockerContainers(deps),
    images: dockerImages(deps),
    networks: dockerNetworks(deps),
    volumes: dockerVolumes(deps),
  };
}
