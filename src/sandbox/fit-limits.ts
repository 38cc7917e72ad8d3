import type { ContainerLimits } from "../ports/containers.ts";
import type { EngineInfo } from "../ports/engine.ts";

/**
 * Lowers the CPU and memory limits to what the engine's machine has. Callers pass only limits from settings
 * and defaults, because limits that a user sets for one sandbox stay unchanged.
 */
export function capLimitsToEngine(
  limits: ContainerLimits,
  { cpus, memoryBytes }: EngineInfo,
): ContainerLimits {
  return {
    ...limits,
    cpus: cpus > 0 ? Math.min(limits.cpus, cpus) : limits.cpus,
    memoryBytes: memoryBytes > 0 ? Math.min(limits.memoryBytes, memoryBytes) : limits.memoryBytes,
  };
}
