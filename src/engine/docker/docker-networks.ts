import { SwarmError } from "../../errors/errors.ts";
import type { Networks, Volumes } from "../networks.ts";
import type { DockerContainersDeps } from "./docker-containers.ts";
import { abortSignalOption } from "./dockerode-client.ts";
import { requireSwarmName } from "./require-safe-names.ts";
import { engineErrorMessage } from "./translate-failure.ts";

/** Creates the operations on the networks of a Docker-compatible engine. */
export function dockerNetworks({ docker, call }: DockerContainersDeps): Networks {
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
            ...abortSignalOption(ending),
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
      const found = await call({ operation: "list networks", signal }, (ending) =>
        docker.listNetworks({ filters: filtersFor(labels), ...abortSignalOption(ending) }),
      );
      return found.map(({ Name }) => Name);
    },

    async names(signal) {
      const found = await call({ operation: "list networks", signal }, (ending) =>
        docker.listNetworks({ ...abortSignalOption(ending) }),
      );
      return found.filter(({ Driver }) => Driver !== "host" && Driver !== "null").map(({ Name }) => Name);
    },

    async subnets(signal) {
      const found = await call({ operation: "list networks", signal }, (ending) =>
        docker.listNetworks({ ...abortSignalOption(ending) }),
      );
      return found.flatMap(({ Name: name, IPAM }) =>
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
        const { NetworkSettings } = await docker
          .getContainer(container)
          .inspect({ ...abortSignalOption(ending) });
        if (NetworkSettings.Networks[name]) return;
        await network.connect({
          Container: container,
          EndpointConfig: { IPAMConfig: { IPv4Address: address } },
          ...abortSignalOption(ending),
        });
      });
    },

    async remove(name, signal) {
      await call({ operation: `remove the network ${name}`, signal }, async (ending) => {
        const network = docker.getNetwork(name);
        const found = await network.inspect().catch(ifMissing);
        for (const Container of Object.keys(found?.Containers ?? {}))
          await network.disconnect({ Container, Force: true, ...abortSignalOption(ending) }).catch(ifMissing);
        await network.remove(abortSignalOption(ending)).catch(ifMissing);
      });
    },
  };
}

/** Creates the operations on the volumes of a Docker-compatible engine. */
export function dockerVolumes({ docker, call }: DockerContainersDeps): Volumes {
  return {
    async create(name, labels, signal) {
      requireSwarmName(name);
      await call({ operation: `create the volume ${name}`, signal }, (ending) =>
        docker.createVolume({ Name: name, Labels: { ...labels }, ...abortSignalOption(ending) }),
      );
    },

    async list(labels, signal) {
      const { Volumes: found } = await call({ operation: "list volumes", signal }, (ending) =>
        docker.listVolumes({ filters: filtersFor(labels), ...abortSignalOption(ending) }),
      );
      return (found ?? []).map(({ Name }) => Name);
    },

    async remove(name, signal) {
      await call({ operation: `remove the volume ${name}`, signal }, (ending) =>
        docker.getVolume(name).remove(abortSignalOption(ending)).catch(ifMissing),
      );
    },
  };
}

function filtersFor(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify({ label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) });
}

function ifMissing(error: { readonly statusCode?: number }): void {
  if (error.statusCode !== 404) throw error;
}
