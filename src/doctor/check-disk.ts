import type { Finding } from "../contract/doctor.ts";
import type { EngineInfo } from "../engine/engine.ts";
import { freeBytes } from "../engine/read-machine.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import { finding } from "./finding.ts";

const minFreeBytes = 5 * 1024 ** 3;

/** Returns the finding of `swarm doctor` about free disk space. `info` is null if no engine answers. */
export async function checkDisk(info: Pick<EngineInfo, "endpoint" | "dataFolder"> | null): Promise<Finding> {
  // Measures the folder of a local engine's data, else `/`: the disk of a remote engine cannot be measured
  // from here.
  const folder = (info?.endpoint.startsWith("unix://") && info.dataFolder) || "/";
  const free = await freeBytes(folder);
  const fact = `${formatBytes(free)} free${folder === "/" ? "" : " on the disk with the engine's data"}`;
  return free >= minFreeBytes
    ? finding("disk", "good", fact)
    : finding("disk", "weak", fact, `Free some space on the disk that contains ${folder}.`);
}
