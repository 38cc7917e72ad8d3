import { SwarmError } from "../../errors/errors.ts";
import type { Networks, Volumes } from "../networks.ts";
import type { EngineConnection } from "./call-engine.ts";
import { labelFilter } from "./label-filter.ts";
import { requireSwarmName } from "./require-safe-names.ts";
import { engineErrorMessage, nullIfStatus } from "./translate-failure.ts";

/** Creates the operations on the networks of a Docker-compatible engine. */
export function dockerNetworks({ docker, call }: EngineConnection): Networks {
  const list = (signal?: AbortSignal, filters?: string) =>
    call({ operation: "list networks", signal }, (ending) =>
      docker.listNetworks({ ...(filters && { filters }), ...ending }),
    );

  return {
    async create({ name, labels, internal, subnet }, signal) {
      requireSwarmName(name);
      const meaning = {
        operation: `create the network ${name}`,
        conflicting: () => new SwarmError("NAME_TAKEN", { name }),
        signal,
      };
      const { id } = await call(meaning, (ending) =>
        docker
          .createNetwork({
            Name: name,
            // Without `CheckDuplicate`, some engines allow two networks with the same name.
            CheckDuplicate: true,
            Internal: internal,
            // Without `inhibit_ipv4`, the host has an address in an internal network. Containers could then
            // reach every service of the host that listens on all addresses.
            ...(internal && { Options: { "com.docker.network.bridge.inhibit_ipv4": "true" } }),
            Labels: { ...labels },
            ...(subnet !== null && { IPAM: { Driver: "default", Config: [{ Subnet: subnet }] } }),
            ...ending,
          })
          // The HTTP status for an overlapping subnet differs between versions of the engine, so test the
          // message.
          .catch((error: unknown) => {
            if (subnet === null || !/overlap/i.test(engineErrorMessage(error))) throw error;
            throw new SwarmError("SUBNET_TAKEN", { subnet });
          }),
      );
      return id;
    },

    async list(labels, signal) {
      return (await list(signal, labelFilter(labels))).map(({ Name }) => Name);
    },

    async names(signal) {
      return (await list(signal))
        .filter(({ Driver }) => Driver !== "host" && Driver !== "null")
        .map(({ Name }) => Name);
    },

    async subnets(signal) {
      return (await list(signal)).flatMap(({ Name: name, IPAM }) =>
        (IPAM?.Config ?? []).flatMap(({ Subnet: subnet }) => (subnet ? [{ name, subnet }] : [])),
      );
    },

    async connect(name, container, address, signal) {
      const meaning = {
        operation: `connect ${container} to the network ${name}`,
        missing: () => new SwarmError("CONTAINER_GONE", { id: container }),
        signal,
      };
      await call(meaning, async (ending) => {
        const network = docker.getNetwork(name);
        const { NetworkSettings } = await docker.getContainer(container).inspect(ending);
        if (NetworkSettings.Networks[name]) return;
        await network.connect({
          Container: container,
          EndpointConfig: { IPAMConfig: { IPv4Address: address } },
          ...ending,
        });
      });
    },

    async remove(name, signal) {
      await call({ operation: `remove the network ${name}`, signal }, async (ending) => {
        const network = docker.getNetwork(name);
        const found = await network.inspect().catch(nullIfStatus(404));
        for (const Container of Object.keys(found?.Containers ?? {}))
          await network.disconnect({ Container, Force: true, ...ending }).catch(nullIfStatus(404));
        await network.remove(ending).catch(nullIfStatus(404));
      });
    },
  };
}

/** Creates the operations on the volumes of a Docker-compatible engine. */
export function dockerVolumes({ docker, call }: EngineConnection): Volumes {
  return {
    async create(name, labels, signal) {
      requireSwarmName(name);
      await call({ operation: `create the volume ${name}`, signal }, (ending) =>
        docker.createVolume({ Name: name, Labels: { ...labels }, ...ending }),
      );
    },

    async list(labels, signal) {
      const { Volumes: found } = await call({ operation: "list volumes", signal }, (ending) =>
        docker.listVolumes({ filters: labelFilter(labels), ...ending }),
      );
      return (found ?? []).map(({ Name }) => Name);
    },

    async remove(name, signal) {
      await call({ operation: `remove the volume ${name}`, signal }, (ending) =>
        docker.getVolume(name).remove(ending).catch(nullIfStatus(404)),
      );
    },
  };
}
