import { isContainerName } from "../domain/container-name.ts";
import { SwarmError } from "../domain/errors.ts";
import type { Networks, Volumes } from "../ports/networks.ts";
import type { DockerDeps } from "./docker-containers.ts";
import { until } from "./dockerode-at.ts";

/** The networks of a Docker-compatible engine. */
export function dockerNetworks({ docker, call }: DockerDeps): Networks {
  return {
    async create({ name, labels, internal, subnet }, signal) {
      refuseName(name);
      const meaning = {
        operation: `create the network ${name}`,
        conflicting: () => new SwarmError("NAME_TAKEN", { name }),
        signal,
      };
      const { id } = await call(meaning, () =>
        docker.createNetwork({
          Name: name,
          // Two networks of one name can exist otherwise.
          CheckDuplicate: true,
          Internal: internal,
          Labels: { ...labels },
          ...(subnet !== null && { IPAM: { Driver: "default", Config: [{ Subnet: subnet }] } }),
          ...until(signal),
        }),
      );
      return id;
    },

    async list(labels, signal) {
      const found = await call({ operation: "list networks", signal }, () =>
        docker.listNetworks({ filters: filtersFor(labels), ...until(signal) }),
      );
      return found.map(({ Name }) => Name);
    },

    async names(signal) {
      const found = await call({ operation: "list networks", signal }, () =>
        docker.listNetworks({ ...until(signal) }),
      );
      return found.filter(({ Driver }) => Driver !== "host" && Driver !== "null").map(({ Name }) => Name);
    },

    async remove(name, signal) {
      await call({ operation: `remove the network ${name}`, signal }, () =>
        docker.getNetwork(name).remove(until(signal)).catch(ifMissing),
      );
    },
  };
}

/** The volumes of a Docker-compatible engine. */
export function dockerVolumes({ docker, call }: DockerDeps): Volumes {
  return {
    async create(name, labels, signal) {
      refuseName(name);
      await call({ operation: `create the volume ${name}`, signal }, () =>
        docker.createVolume({ Name: name, Labels: { ...labels }, ...until(signal) }),
      );
    },

    async list(labels, signal) {
      const { Volumes: found } = await call({ operation: "list volumes", signal }, () =>
        docker.listVolumes({ filters: filtersFor(labels), ...until(signal) }),
      );
      return (found ?? []).map(({ Name }) => Name);
    },

    async remove(name, signal) {
      await call({ operation: `remove the volume ${name}`, signal }, () =>
        docker.getVolume(name).remove(until(signal)).catch(ifMissing),
      );
    },
  };
}

function filtersFor(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify({ label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) });
}

function refuseName(name: string): void {
  if (!isContainerName(name))
    throw new SwarmError("SPEC_REFUSED", {
      field: `The name ${JSON.stringify(name)}`,
      reason: "names are aimi- and then [a-z0-9-], with one dot at most near the end",
    });
}

function ifMissing(error: { readonly statusCode?: number }): void {
  if (error.statusCode !== 404) throw error;
}
