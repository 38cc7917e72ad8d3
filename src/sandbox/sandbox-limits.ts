import type { ContainerLimits } from "../engine/containers.ts";
import type { EngineInfo } from "../engine/engine.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { parseSizeBytes } from "../text/duration-and-size.ts";
import { defaultLimits } from "./sandbox-defaults.ts";

/** Returns the resource limits that the settings give to one sandbox. */
export function sandboxLimits(
  settings: Pick<Settings, `limits.${string}` & keyof Settings>,
): ContainerLimits {
  const bytes = (text: string): number => parseSizeBytes(text) ?? 0;
  return {
    ...defaultLimits,
    cpus: settings["limits.cpus"],
    memoryBytes: bytes(settings["limits.memory"]),
    swapBytes: bytes(settings["limits.swap"]),
    diskBytes: bytes(settings["limits.disk"]),
    pids: settings["limits.pids"],
    programs32Bit: settings["limits.programs32Bit"],
  };
}

/**
 * Reduces the CPU and memory limits to the CPUs and the memory of the engine's machine. Callers pass only
 * limits from defaults or settings: limits that the user sets for one sandbox stay unchanged.
 */
export function capLimitsToEngine(
  limits: ContainerLimits,
  { cpus, memoryBytes }: Pick<EngineInfo, "cpus" | "memoryBytes">,
): ContainerLimits {
  return {
    ...limits,
    cpus: cpus > 0 ? Math.min(limits.cpus, cpus) : limits.cpus,
    memoryBytes: memoryBytes > 0 ? Math.min(limits.memoryBytes, memoryBytes) : limits.memoryBytes,
  };
}
