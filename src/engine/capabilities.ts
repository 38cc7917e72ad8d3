import { SwarmError } from "../errors/errors.ts";
import type { ConnectedEngine, ContainerEngine, EngineCapabilities } from "./engine.ts";

const actions: Readonly<Record<keyof EngineCapabilities, string>> = {
  pause: "pause containers",
  commit: "create an image from a container",
  subnets: "create networks with a chosen range of addresses",
  namedVolumes: "create volumes with names",
};

/** Throws ENGINE_LACKS if the engine does not announce a capability. */
export function requireCapability(
  { endpoint, capabilities }: Pick<ContainerEngine, "endpoint" | "capabilities">,
  name: keyof EngineCapabilities,
): void {
  if (!capabilities[name]) throw new SwarmError("ENGINE_LACKS", { endpoint, action: actions[name] });
}

/** Returns the engine with actions that throw ENGINE_LACKS where the engine does not announce the capability. */
export function withinCapabilities(engine: ContainerEngine): ContainerEngine {
  const open = async (signal?: AbortSignal): Promise<ConnectedEngine> => {
    const { containers, images, networks, volumes } = await engine.open(signal);
    return {
      images,
      containers: {
        ...containers,
        async pause(id, ending) {
          requireCapability(engine, "pause");
          return containers.pause(id, ending);
        },
        async commit(id, image, ending) {
          requireCapability(engine, "commit");
          return containers.commit(id, image, ending);
        },
      },
      networks: {
        ...networks,
        async create(spec, ending) {
          if (spec.subnet !== null) requireCapability(engine, "subnets");
          return networks.create(spec, ending);
        },
      },
      volumes: {
        ...volumes,
        async create(name, labels, ending) {
          requireCapability(engine, "namedVolumes");
          return volumes.create(name, labels, ending);
        },
      },
    };
  };
  return Object.values(engine.capabilities).every(Boolean) ? engine : { ...engine, open };
}
