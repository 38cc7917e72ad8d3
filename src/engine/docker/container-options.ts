import type Docker from "dockerode";
import type { ContainerLimits, ContainerNetwork, ContainerSpec } from "../containers.ts";
import { processLimits } from "../rules/process-limits.ts";
import { assignments } from "./label-filter.ts";
import { seccompOption } from "./seccomp/seccomp-profile.ts";

/** A container to create, as this engine can confine it. */
export interface ContainerRequest {
  readonly spec: ContainerSpec;
  readonly diskEnforced: boolean;
  /** The container's seccomp profile, or null for the engine's default profile. */
  readonly profile: string | null;
}

/**
 * Converts a container spec into the engine's options for creating the container. `confinement-breaches.ts`
 * later checks the created container, because the engine adds its own defaults.
 */
export function containerOptions({
  spec,
  diskEnforced,
  profile,
}: ContainerRequest): Docker.ContainerCreateOptions {
  return {
    name: spec.name,
    Image: spec.image,
    Entrypoint: [],
    Cmd: [...spec.command],
    Env: assignments(spec.env),
    User: spec.user,
    WorkingDir: spec.workdir,
    Labels: { ...spec.labels },
    Tty: false,
    OpenStdin: false,
    // An image's own health check would start processes that are not part of the spec.
    Healthcheck: { Test: ["NONE"] },
    ...addressOptions(spec.network),
    HostConfig: {
      Runtime: spec.runtime,
      Init: true,
      NetworkMode: networkMode(spec.network),
      Privileged: spec.privileged,
      ReadonlyRootfs: spec.readOnlyRoot,
      CapDrop: spec.privileged ? [] : ["ALL"],
      CapAdd: spec.privileged ? [] : [...spec.capabilities],
      SecurityOpt: spec.privileged ? [] : securityOptions(profile),
      IpcMode: "private",
      RestartPolicy: { Name: "no" },
      // Docker's default for a tmpfs is noexec, which breaks builds. The memory limit covers the pages of a
      // tmpfs.
      Tmpfs: { "/tmp": `exec,nosuid,nodev,size=${spec.tmpBytes},mode=1777` },
      Mounts: spec.volumes.map(({ name, path, readOnly = false }) => ({
        Type: "volume" as const,
        Source: name,
        Target: path,
        ...(readOnly && { ReadOnly: true }),
      })),
      ...(spec.nameServer !== undefined && { Dns: [spec.nameServer] }),
      ...limitOptions(spec, diskEnforced),
    },
  };
}

export function securityOptions(profile: string | null): string[] {
  return ["no-new-privileges", ...(profile === null ? [] : [seccompOption(profile)])];
}

function addressOptions(network: ContainerNetwork): Partial<Docker.ContainerCreateOptions> {
  if (network.kind !== "named" || network.address === undefined) return {};
  const endpoint = { IPAMConfig: { IPv4Address: network.address } };
  return { NetworkingConfig: { EndpointsConfig: { [network.name]: endpoint } } };
}

export function networkMode(network: ContainerNetwork): string {
  return network.kind === "named" ? network.name : network.kind;
}

function limitOptions({ limits, runtime }: ContainerSpec, diskEnforced: boolean): Docker.HostConfig {
  const { maxPerContainer, maxPerUser } = processLimits(runtime, limits.pids);
  return {
    NanoCpus: Math.round(limits.cpus * 1e9),
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes + limits.swapBytes,
    PidsLimit: maxPerContainer,
    Ulimits: [
      { Name: "nofile", Soft: limits.descriptors, Hard: limits.descriptors },
      { Name: "core", Soft: 0, Hard: 0 },
      ...(maxPerUser === null ? [] : [{ Name: "nproc", Soft: maxPerUser, Hard: maxPerUser }]),
    ],
    LogConfig: logOptions(limits),
    ...(diskEnforced && { StorageOpt: { size: String(limits.diskBytes) } }),
  };
}

export function logOptions({ logBytes }: ContainerLimits): {
  readonly Type: string;
  readonly Config: Readonly<Record<string, string>>;
} {
  return {
    Type: "json-file",
    Config: { "max-size": `${Math.ceil(logBytes / 1024)}k`, "max-file": "1" },
  };
}
