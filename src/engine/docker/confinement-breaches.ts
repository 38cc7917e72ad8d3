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

export interface ConfinementBreachOptions {
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

/**
 * Finds all settings that make a created container less confined than its spec. Such settings can come from
 * the engine's defaults, from plugins or from other clients.
 */
export function findConfinementBreaches(
  { HostConfig: host, Config: config, Mounts, NetworkSettings }: Inspected,
  spec: ContainerSpec,
  { limitsSwap = true, profile = null }: ConfinementBreachOptions = {},
): string[] {
  const breaches: string[] = [];
  const refuse = (isBreached: unknown, what: string): void => {
    if (isBreached) breaches.push(what);
  };
  const has = (list: readonly unknown[] | null | undefined): boolean => (list?.length ?? 0) > 0;

  refuse(has(host.Binds), `folders of the host are mounted: ${host.Binds?.join(", ")}`);
  // A volume with driver options of its own can expose any folder of the host.
  for (const { Type, Source, Target, VolumeOptions } of host.Mounts ?? []) {
    const isOurs =
      Type === "volume" && spec.volumes.some(({ name, path }) => Source === name && Target === path);
    const driver = VolumeOptions?.DriverConfig;
    refuse(
      !isOurs || driver,
      `a ${Type} that was not requested is mounted at ${Target}: ${Source || JSON.stringify(driver ?? {})}`,
    );
  }
  for (const mount of Mounts) {
    const isOurs = spec.volumes.some(({ name, path }) => mount.Name === name && mount.Destination === path);
    const isAnonymous = mount.Type === "volume" && /^[0-9a-f]{64}$/.test(mount.Name ?? "");
    // These mounts expose nothing of the host: a tmpfs is the container's own memory, and the engine creates
    // an image's anonymous volume for this container alone.
    const isHarmless = mount.Type === ("tmpfs" as string) || isAnonymous || isOurs;
    refuse(!isHarmless, `${mount.Source || mount.Name} is mounted at ${mount.Destination}`);
  }
  for (const { name, path, readOnly } of spec.volumes) {
    const mount = Mounts.find(({ Destination }) => Destination === path);
    refuse(
      readOnly && mount && mount.RW !== false,
      `the volume ${name} is writable at ${path}, but swarm requested a read-only volume`,
    );
  }
  const requested = spec.nameServer === undefined ? "" : spec.nameServer;
  refuse(
    (host.Dns ?? []).join(" ") !== requested,
    `the container's DNS server is ${host.Dns?.join(", ") || "the engine's"}`,
  );
  refuse(has(host.VolumesFrom), "the container mounts another container's volumes");
  refuse(host.NetworkMode !== networkMode(spec.network), `the container's network is ${host.NetworkMode}`);
  const networks = Object.keys(NetworkSettings.Networks).filter((name) => !mayHave(spec, name));
  refuse(has(networks), `the container is connected to ${networks.join(", ")}`);
  refuse(has(host.Links) || has(host.ExtraHosts), "the container is linked to other hosts");
  refuse(
    host.PublishAllPorts || Object.keys(host.PortBindings ?? {}).length > 0,
    "the container publishes ports",
  );
  refuse(host.PidMode, `the container shares its PID namespace: ${host.PidMode}`);
  refuse(host.IpcMode !== "private", `the container shares its IPC namespace: ${host.IpcMode}`);
  refuse(host.UTSMode, `the container shares its host name: ${host.UTSMode}`);
  refuse(host.UsernsMode, `the container's user namespace is ${host.UsernsMode}`);
  refuse(host.CgroupParent, `the parent of the container's control group is ${host.CgroupParent}`);
  refuse(host.Runtime !== spec.runtime, `the container's runtime is ${host.Runtime}`);
  refuse(
    has(host.Devices) || has(host.DeviceRequests) || has(host.DeviceCgroupRules),
    "the container has access to devices of the host",
  );
  refuse(Object.keys(host.Sysctls ?? {}).length > 0, "the container changes kernel settings");
  refuse(has(host.GroupAdd), `the container's user is in the groups ${host.GroupAdd?.join(", ")}`);
  refuse(
    host.OomKillDisable || (host.OomScoreAdj ?? 0) < 0,
    "the container's processes are protected from the kernel's OOM killer",
  );
  refuse(
    host.RestartPolicy?.Name && host.RestartPolicy.Name !== "no",
    "the engine would restart the container automatically",
  );
  refuse(host.AutoRemove, "the engine would remove the container automatically");
  refuse(config.User !== spec.user, `the container runs as ${config.User || "root"}`);
  refuse(spec.readOnlyRoot && !host.ReadonlyRootfs, "the container's root filesystem is writable");
  breaches.push(...limitBreaches(host, spec, limitsSwap));
  if (!spec.privileged) breaches.push(...confinementBreaches(host, spec, profile));
  return breaches;
}

/**
 * Returns whether the spec allows the network of this name. The engine's default network is named `bridge`
 * in Docker and `podman` in Podman.
 */
function mayHave({ network }: ContainerSpec, name: string): boolean {
  return name === networkMode(network) || (network.kind === "bridge" && name === "podman");
}

function confinementBreaches(
  host: Inspected["HostConfig"],
  spec: ContainerSpec,
  profile: string | null,
): string[] {
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
  const found: (string | false)[] = [
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
  return found.filter((breach) => breach !== false);
}

/** Finds the resource limits of the spec that the engine did not apply to the container. */
function limitBreaches(
  host: Inspected["HostConfig"],
  { limits, runtime }: ContainerSpec,
  limitsSwap: boolean,
): string[] {
  const limitOf = (name: string): number | undefined =>
    host.Ulimits?.find((limit: { Name?: string | undefined }) => limit.Name === name)?.Hard;
  const log = logOptions(limits);
  const { maxPerContainer, maxPerUser } = processLimits(runtime, limits.pids);
  const found: (string | false)[] = [
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
  return found.filter((breach) => breach !== false);
}
