import type { Finding } from "../contract/doctor.ts";
import type { MachineFacts } from "../engine/machine-facts.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import { formatCount } from "../text/format-count.ts";
import { finding } from "./finding.ts";

const minMemoryBytes = 2 * 1024 ** 3;

/** Returns the finding of `swarm doctor` about the memory and the CPUs of this machine. */
export function checkMemory({ memoryBytes, cpus }: Pick<MachineFacts, "memoryBytes" | "cpus">): Finding {
  const fact = `${formatBytes(memoryBytes)}, ${formatCount(cpus, "CPU")}`;
  return memoryBytes >= minMemoryBytes
    ? finding("memory", "good", fact)
    : finding("memory", "weak", fact, "Lower limits.memory in the settings.");
}
