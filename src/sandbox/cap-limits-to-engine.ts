import type { ContainerLimits } from "../engine/containers.ts";
import type { EngineInfo } from "../engine/engine.ts";

/**
 * Reduces the CPU and memory limits to the CPUs and the memory of the engine's machine. Callers pass only
 * limits from defaults or settings: limits that the user sets for one sandbox stay unchanged.
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
