import type { Finding } from "../contract/doctor.ts";
import type { EngineInfo } from "../engine/engine.ts";
import type { MachineFacts } from "../engine/machine-facts.ts";
import { freeBytes, readMachineFacts } from "../engine/read-machine.ts";
import { createGit } from "../git/git.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import { formatCount } from "../text/format-count.ts";
import { good, missing, weak } from "./finding.ts";

/** Returns the findings of `swarm doctor` about Node, git, which swarm starts in `folder`, and the memory. */
export async function diagnoseMachine(folder: string): Promise<Finding[]> {
  const machine = await readMachineFacts();
  return [checkNode(process.version), await checkGit(folder, machine), checkMemory(machine)];
}

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return (major === 24 && minor >= 15) || major >= 26
    ? good("node", version)
    : missing("node", `version ${version} is too old`, "Install Node 24.15 or newer.");
}

async function checkGit(folder: string, { system }: MachineFacts): Promise<Finding> {
  const version = await createGit(folder)
    .version()
    .catch(() => null);
  const install =
    system === "debian" || system === "ubuntu" ? "`apt-get install git`" : "Install git 2.38 or newer.";
  if (version === null) return missing("git", "git is not installed", install);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 38)
    ? good("git", version)
    : missing(
        "git",
        `git ${version} is too old: swarm merges without a working tree, which needs git 2.38 or newer`,
        install,
      );
}

const minMemoryBytes = 2 * 1024 ** 3;

function checkMemory({ memoryBytes, cpus }: MachineFacts): Finding {
  const fact = `${formatBytes(memoryBytes)}, ${formatCount(cpus, "CPU")}`;
  return memoryBytes >= minMemoryBytes
    ? good("memory", fact)
    : weak("memory", fact, "Lower limits.memory in the settings.");
}

const minFreeBytes = 5 * 1024 ** 3;

/** Returns the finding of `swarm doctor` about free disk space. `info` is null if no engine answers. */
export async function checkDisk(info: Pick<EngineInfo, "endpoint" | "dataFolder"> | null): Promise<Finding> {
  // Measures the folder of a local engine's data, else `/`: the disk of a remote engine cannot be measured
  // from here.
  const folder = (info?.endpoint.startsWith("unix://") && info.dataFolder) || "/";
  const free = await freeBytes(folder);
  const fact = `${formatBytes(free)} free${folder === "/" ? "" : " on the disk with the engine's data"}`;
  return free >= minFreeBytes
    ? good("disk", fact)
    : weak("disk", fact, `Free some space on the disk that contains ${folder}.`);
}
