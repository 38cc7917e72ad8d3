import type { ContainerLimits } from "../ports/containers.ts";
import type { EngineInfo } from "../ports/engine.ts";

/**
 * Reduces the limits from settings and defaults to what the engine's machine has. Limits in a spec or an
 * option of the library are not reduced.
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
