import { readFile, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { readOrCreateSecret } from "../machine/secret-file.ts";
import type { MachineFacts } from "./machine-facts.ts";

/** Reads the CPUs, memory, operating system and the user's rights on this machine. */
export async function readMachineFacts(): Promise<MachineFacts> {
  return {
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    system: await systemName(),
    isRoot: process.getuid?.() === 0,
  };
}

/** Returns the number of free bytes on the filesystem of a path. The path need not exist yet. */
export async function freeBytes(path: string): Promise<number> {
  for (let folder = path; ; folder = dirname(folder)) {
    const stats = await statfs(folder).catch(() => null);
    if (stats) return stats.bavail * stats.bsize;
    if (dirname(folder) === folder) return 0;
  }
}

/** Returns the ID of this machine: its `/etc/machine-id`, or a random ID created once in the state folder. */
export async function machineId(stateFolder: string): Promise<string> {
  const own = (await readFile("/etc/machine-id", "utf8").catch(() => "")).trim();
  if (/^[0-9a-f]{32}$/.test(own)) return own;
  return readOrCreateSecret(join(stateFolder, "machine-id"), { bytes: 16 });
}

/**
 * Returns the name of this machine's Linux distribution, or of a known distribution on which it is based, to
 * choose instructions for installing packages. On other systems, returns the platform's name.
 */
async function systemName(): Promise<string> {
  if (process.platform !== "linux") return process.platform;
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const field = (name: string): string[] =>
    (new RegExp(`^${name}="?([^"\n]*)"?$`, "m").exec(release)?.[1] ?? "").split(" ");
  const known = ["debian", "ubuntu", "fedora", "rhel", "centos", "arch", "alpine"];
  const names = [...field("ID"), ...field("ID_LIKE")];
  return names.find((name) => known.includes(name)) ?? (names[0] || "linux");
}
