import type Docker from "dockerode";
import type { ContainerFacts, ContainerStats } from "../containers.ts";

/** Converts dockerode's answer to `inspect` of a container into `ContainerFacts`. */
export function toContainerFacts(found: Docker.ContainerInspectInfo & { SizeRw?: number }): ContainerFacts {
  const { State } = found;
  const ended = State.Status === "exited" || State.Status === "dead";
  return {
    id: found.Id,
    name: found.Name.replace(/^\//, ""),
    imageId: found.Image,
    labels: found.Config.Labels,
    state: State.Status as ContainerFacts["state"],
    exitCode: ended ? State.ExitCode : null,
    memoryExhausted: State.OOMKilled,
    startedAt: timeOf(State.StartedAt),
    finishedAt: ended ? timeOf(State.FinishedAt) : null,
    diskBytes: found.SizeRw ?? null,
  };
}

/** Parses a time that the engine reported. Returns null for the year 1, which means "never". */
function timeOf(text: string): Date | null {
  return text.startsWith("0001-") ? null : new Date(text);
}

/** Converts one sample of the engine's container statistics into figures that swarm shows to the user. */
export function toContainerStats(stats: Docker.ContainerStats): ContainerStats {
  const { cpu_stats: now, precpu_stats: before, memory_stats: memory } = stats;
  const used = now.cpu_usage.total_usage - before.cpu_usage.total_usage;
  const elapsed = (now.system_cpu_usage ?? 0) - (before.system_cpu_usage ?? 0);
  const networks = Object.values(stats.networks ?? {});
  return {
    cpuPercent: elapsed > 0 ? (used / elapsed) * (now.online_cpus ?? 1) * 100 : 0,
    // Subtract the inactive file cache: the kernel frees that memory on demand.
    memoryBytes: Math.max(
      0,
      (memory.usage ?? 0) - (memory.stats?.total_inactive_file ?? memory.stats?.inactive_file ?? 0),
    ),
    memoryLimitBytes: memory.limit ?? 0,
    pids: stats.pids_stats?.current ?? 0,
    networkInBytes: networks.reduce((sum, { rx_bytes }) => sum + rx_bytes, 0),
    networkOutBytes: networks.reduce((sum, { tx_bytes }) => sum + tx_bytes, 0),
  };
}
