import type { ContainerLimits } from "../ports/containers.ts";
import type { EngineInfo } from "../ports/engine.ts";

/** Caps limits of settings and defaults at what the engine's machine has; callers do not cap those of a spec or an option. */
export function fitLimits(limits: ContainerLimits, { cpus, memoryBytes }: EngineInfo): ContainerLimits {
  return {
    ...limits,
    cpus: cpus > 0 ? Math.min(limits.cpus, cpus) : limits.cpus,
    memoryBytes: memoryBytes > 0 ? Math.min(limits.memoryBytes, memoryBytes) : limits.memoryBytes,
  };
}
