import type { ContainerSpec } from "../engine/containers.ts";

const mebibyte = 1024 ** 2;

/**
 * The settings that the gateway's container and the probe container share: a read-only root filesystem and no
 * capabilities.
 */
const bare = {
  env: {},
  user: "1000:1000",
  workdir: "/",
  capabilities: [],
  readOnlyRoot: true,
  privileged: false,
} as const;

export interface GatewayContainerInput {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly runtime: string;
  readonly socketVolume: string;
}

/** Returns the spec of the gateway's container, the only container of a swarm that reaches other hosts. */
export function gatewayContainerSpec({
  socketVolume,
  volume,
  ...named
}: GatewayContainerInput & { readonly volume: string }): ContainerSpec {
  return {
    ...bare,
    ...named,
    command: ["/opt/aimi/gateway", "serve", "socket", "network"],
    network: { kind: "bridge" },
    limits: {
      cpus: 2,
      memoryBytes: 512 * mebibyte,
      swapBytes: 0,
      pids: 256,
      descriptors: 16_384,
      diskBytes: 1024 * mebibyte,
      files: 1_000,
      logBytes: 10 * mebibyte,
    },
    tmpBytes: 16 * mebibyte,
    volumes: [
      { name: volume, path: "/gw" },
      { name: socketVolume, path: "/door" },
    ],
  };
}

/**
 * Returns the spec of a probe container. Its program tries to connect to the gateway's socket, as the adapter
 * of a worker without a network does.
 */
export function gatewayProbeContainerSpec({ socketVolume, ...named }: GatewayContainerInput): ContainerSpec {
  return {
    ...bare,
    ...named,
    command: ["/opt/aimi/gateway", "knock"],
    network: { kind: "none" },
    limits: {
      cpus: 1,
      memoryBytes: 512 * mebibyte,
      swapBytes: 0,
      pids: 512,
      descriptors: 1_024,
      diskBytes: 64 * mebibyte,
      files: 1_000,
      logBytes: mebibyte,
    },
    tmpBytes: 16 * mebibyte,
    volumes: [{ name: socketVolume, path: "/door", readOnly: true }],
  };
}
