import type { ContainerLimits } from "../ports/containers.ts";
import type { EngineInfo } from "../ports/engine.ts";

/** Limits that nobody asked for by number are never more than the engine's machine has. */
export function fitLimits(limits: ContainerLimits, { cpus, memoryBytes }: EngineInfo): ContainerLimits {
  return {
    ...limits,
    cpus: cpus > 0 ? Math.min(limits.cpus, cpus) : limits.cpus,
    memoryBytes: memoryBytes > 0 ? Math.min(limits.memoryBytes, memoryBytes) : limits.memoryBytes,
  };
}
