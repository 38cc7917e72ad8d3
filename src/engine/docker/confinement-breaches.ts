import type Docker from "dockerode";
import type { ContainerSpec } from "../containers.ts";
import { processLimits } from "../rules/process-limits.ts";
import { logOptions, networkMode } from "./container-options.ts";
import { isSwarmSeccompProfile, seccompOption } from "./seccomp/seccomp-profile.ts";

/**
 * The fields of dockerode's answer to `inspect` that `findConfinementBreaches` checks. dockerode's types
 * lack some of these fields.
 */
interface Inspected {
  readonly HostConfig: Docker.HostConfig & {
    readonly MaskedPaths?: string[] | null | undefined;
    readonly ReadonlyPaths?: string[] | null | undefined;
    readonly CgroupParent?: string | undefined;
  };
  readonly Config: { readonly User: string };
  readonly Mounts: Docker.ContainerInspectInfo["Mounts"];
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> };
}

export interface RequestedConfinement {
  readonly spec: ContainerSpec;
  /** Whether the engine's kernel can limit swap. */
  readonly limitsSwap?: boolean;
  /**
   * The seccomp profile that swarm requested for a new container. Null if the container existed already, or
   * if swarm left the engine's default profile in place.
   */
  readonly profile?: string | null;
}

/**
 * The paths that every engine hides from containers (`hidden`) or mounts read-only (`readOnly`). Not every
 * kernel has all of these paths.
 */
const hidden: readonly string[] = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"];
const readOnly: readonly string[] = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
];

/** A breach, or a value that stands for none. */
type Finding = string | false | 0 | null | undefined;

/**
 * Finds all settings that make a created container less confined than its spec. Such settings can come from
 * the engine's defaults, from plugins or from other clients.
 */
export function findConfinementBreaches(
  { HostConfig: host, Config: config, Mounts, NetworkSettings }: Inspected,
  { spec, limitsSwap = true, profile = null }: RequestedConfinement,
): string[] {
  const networks = Object.keys(NetworkSettings.Networks).filter((name) => !mayHave(spec, name));
  const found: Finding[] = [
    host.Binds?.length && `folders of the host are mounted: ${host.Binds.join(", ")}`,
    ...mountBreaches(host.Mounts ?? [], Mounts, spec),
    (host.Dns ?? []).join(" ") !== (spec.nameServer ?? "") &&
      `the container's DNS server is ${host.Dns?.join(", ") || "the engine's"}`,
    hasAny(host.VolumesFrom) && "the container mounts another container's volumes",
    host.NetworkMode !== networkMode(spec.network) && `the container's network is ${host.NetworkMode}`,
    hasAny(networks) && `the container is connected to ${networks.join(", ")}`,
    (hasAny(host.Links) || hasAny(host.ExtraHosts)) && "the container is linked to other hosts",
    (host.PublishAllPorts || hasAny(Object.keys(host.PortBindings ?? {}))) && "the container publishes ports",
    host.PidMode && `the container shares its PID namespace: ${host.PidMode}`,
    host.IpcMode !== "private" && `the container shares its IPC namespace: ${host.IpcMode}`,
    host.UTSMode && `the container shares its host name: ${host.UTSMode}`,
    host.UsernsMode && `the container's user namespace is ${host.UsernsMode}`,
    host.CgroupParent && `the parent of the container's control group is ${host.CgroupParent}`,
    host.Runtime !== spec.runtime && `the container's runtime is ${host.Runtime}`,
    [host.Devices, host.DeviceRequests, host.DeviceCgroupRules].some(hasAny) &&
      "the container has access to devices of the host",
    hasAny(Object.keys(host.Sysctls ?? {})) && "the container changes kernel settings",
    host.GroupAdd?.length && `the container's user is in the groups ${host.GroupAdd.join(", ")}`,
    (host.OomKillDisable || (host.OomScoreAdj ?? 0) < 0) &&
      "the container's processes are protected from the kernel's OOM killer",
    (host.RestartPolicy?.Name || "no") !== "no" && "the engine would restart the container automatically",
    host.AutoRemove && "the engine would remove the container automatically",
    config.User !== spec.user && `the container runs as ${config.User || "root"}`,
    spec.readOnlyRoot && !host.ReadonlyRootfs && "the container's root filesystem is writable",
    ...limitBreaches(host, spec, limitsSwap),
    ...(spec.privileged ? [] : privilegeBreaches(host, spec, profile)),
  ];
  return found.flatMap((breach) => breach || []);
}

function hasAny(list: readonly unknown[] | null | undefined): boolean {
  return (list?.length ?? 0) > 0;
}

function mountBreaches(
  requested: NonNullable<Docker.HostConfig["Mounts"]>,
  mounted: Inspected["Mounts"],
  { volumes }: ContainerSpec,
): Finding[] {
  return [
    ...requested.map(({ Type, Source, Target, VolumeOptions }) => {
      const isOurs =
        Type === "volume" && volumes.some(({ name, path }) => Source === name && Target === path);
      // A volume with driver options of its own can expose any folder of the host.
      const driver = VolumeOptions?.DriverConfig;
      return (
        (!isOurs || driver) &&
        `a ${Type} that was not requested is mounted at ${Target}: ${Source || JSON.stringify(driver ?? {})}`
      );
    }),
    ...mounted.map(({ Type, Name, Source, Destination }) => {
      const isOurs = volumes.some(({ name, path }) => Name === name && Destination === path);
      const isAnonymous = Type === "volume" && /^[0-9a-f]{64}$/.test(Name ?? "");
      // These mounts expose nothing of the host: a tmpfs is the container's own memory, and the engine creates
      // an image's anonymous volume for this container alone.
      const isHarmless = Type === ("tmpfs" as string) || isAnonymous || isOurs;
      return !isHarmless && `${Source || Name} is mounted at ${Destination}`;
    }),
    ...volumes.map(
      ({ name, path, readOnly }) =>
        readOnly &&
        mounted.some(({ Destination, RW }) => Destination === path && RW !== false) &&
        `the volume ${name} is writable at ${path}, but swarm requested a read-only volume`,
    ),
  ];
}

/**
 * Returns whether the spec allows the network of this name. The engine's default network is named `bridge`
 * in Docker and `podman` in Podman.
 */
function mayHave({ network }: ContainerSpec, name: string): boolean {
  return name === networkMode(network) || (network.kind === "bridge" && name === "podman");
}

function privilegeBreaches(
  host: Inspected["HostConfig"],
  spec: ContainerSpec,
  profile: string | null,
): Finding[] {
  const options = host.SecurityOpt ?? [];
  const added = (host.CapAdd ?? []).map((name: string) => name.replace(/^CAP_/, ""));
  const unrequested = added.filter(
    (name: string) => !spec.capabilities.some((requested) => requested === name),
  );
  const dropsAll = (host.CapDrop ?? []).some((name: string) => /^(CAP_)?ALL$/i.test(name));
  const isRequestedOption = (option: string): boolean => /^no-new-privileges(?:[:=]true)?$/.test(option);
  // A foreign seccomp profile could allow everything.
  const unrequestedOptions = options.filter(
    (option: string) => !isRequestedOption(option) && !isSwarmSeccompProfile(option, spec.limits),
  );
  const without = (paths: readonly string[], list: readonly string[] | null | undefined): string[] =>
    list ? paths.filter((path) => !list.includes(path)) : [];
  const [shown, writable] = [without(hidden, host.MaskedPaths), without(readOnly, host.ReadonlyPaths)];
  return [
    host.Privileged === true && "the container is privileged",
    unrequested.length > 0 && `the container has the capabilities ${unrequested.join(", ")}`,
    !dropsAll && "the container still has the engine's default capabilities",
    unrequestedOptions.length > 0 &&
      `the container's security options were changed: ${unrequestedOptions.join(", ").slice(0, 200)}`,
    !options.some(isRequestedOption) && "the container's programs could gain privileges",
    profile !== null &&
      !options.includes(seccompOption(profile)) &&
      "the container lacks the requested seccomp profile",
    shown.length > 0 && `the container can read ${shown.join(", ")}`,
    writable.length > 0 && `the container can write to ${writable.join(", ")}`,
  ];
}

/** Finds the resource limits of the spec that the engine did not apply to the container. */
function limitBreaches(
  host: Inspected["HostConfig"],
  { limits, runtime }: ContainerSpec,
  limitsSwap: boolean,
): Finding[] {
  const limitOf = (name: string): number | undefined =>
    host.Ulimits?.find((limit: { Name?: string | undefined }) => limit.Name === name)?.Hard;
  const log = logOptions(limits);
  const { maxPerContainer, maxPerUser } = processLimits(runtime, limits.pids);
  return [
    host.Memory !== limits.memoryBytes && "the container's memory is not limited as requested",
    (host.MemorySwap ?? 0) > limits.memoryBytes + limits.swapBytes &&
      "the container's swap is not limited as requested",
    // A kernel that does not count swap cannot limit it. The engine's `/info` reports this once for all
    // containers.
    limitsSwap && host.MemorySwap === -1 && "the container's swap has no limit",
    host.NanoCpus !== Math.round(limits.cpus * 1e9) && "the container's CPUs are not limited as requested",
    (host.PidsLimit !== maxPerContainer || (maxPerUser !== null && limitOf("nproc") !== maxPerUser)) &&
      "the container's processes are not limited as requested",
    limitOf("nofile") !== limits.descriptors && "the container's open files are not limited as requested",
    ((host.CpuRealtimeRuntime ?? 0) > 0 || (limitOf("rtprio") ?? 0) !== 0) &&
      "the container could use real-time scheduling",
    (host.LogConfig?.Type !== log.Type ||
      Object.entries(log.Config).some(([name, value]) => host.LogConfig?.Config?.[name] !== value)) &&
      "the container's log is not limited as requested",
  ];
}
