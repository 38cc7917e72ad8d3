import type { ContainerLimits } from "../engine/containers.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { parseSizeBytes } from "../text/duration-and-size.ts";
import { defaultLimits } from "./sandbox-defaults.ts";

/** Returns the resource limits that the settings give to one sandbox. */
export function sandboxLimits(settings: Settings): ContainerLimits {
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
