import type { OpenEngine } from "../ports/engine.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { callerFor } from "./call-engine.ts";
import { dockerContainers } from "./docker-containers.ts";
import { dockerImages } from "./docker-images.ts";
import { dockerNetworks, dockerVolumes } from "./docker-networks.ts";
import { dockerodeAt } from "./dockerode-at.ts";

/** What an engine does not do by itself for those who act on it. */
export interface EngineHelp {
  readonly gate: PauseGate;
  /** Ends programs that are just beginning in a container, where that is in our power. How many. */
  readonly endBeginnings: (containerId: string) => Promise<number>;
}

/** Everything of an engine that dockerode is needed for. */
export function openDockerEngine(endpoint: string, { gate, endBeginnings }: EngineHelp): OpenEngine {
  const docker = dockerodeAt(endpoint);
  const deps = { docker, endpoint, gate, call: callerFor({ docker, endpoint, endBeginnings }) };
  return {
    containers: dockerContainers(deps),
    images: dockerImages(deps),
    networks: dockerNetworks(deps),
    volumes: dockerVolumes(deps),
  };
}
