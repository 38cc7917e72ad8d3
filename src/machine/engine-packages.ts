import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import type { EnvironmentVariables } from "./user-folders.ts";

/** The programs that swarm's private engine needs, each with the Debian package that contains it. */
const required: Readonly<Record<string, string>> = {
  dockerd: "docker.io",
  iptables: "iptables",
  ip: "iproute2",
};
/**
 * Optional programs of a private engine, installed only together with required ones: gVisor's runsc, and
 * debootstrap, which creates a base image without a registry.
 */
const optional: Readonly<Record<string, string>> = { runsc: "runsc", debootstrap: "debootstrap" };

/** Finds the path of an installed program by its name; returns null if the program is not installed. */
export async function findProgram(name: string, env: EnvironmentVariables): Promise<string | null> {
  const folders =
    `${env["PATH"] ?? ""}${delimiter}/usr/local/sbin${delimiter}/usr/sbin${delimiter}/sbin`.split(delimiter);
  for (const folder of folders.filter(Boolean)) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

/**
 * Lists the Debian packages that must be installed before a private engine can start. Returns an empty list
 * if all required programs are present.
 */
export async function findMissingEnginePackages(env: EnvironmentVariables): Promise<string[]> {
  const needed = await packagesOf(required, env);
  return needed.length === 0 ? [] : [...needed, ...(await packagesOf(optional, env))];
}

/** Installs Debian packages as root. Skips optional packages that this Debian release does not have. */
export async function installPackages(
  packages: readonly string[],
  onStep: (step: string) => void,
): Promise<void> {
  onStep("Updating the Debian package lists (apt-get update)");
  const update = await apt("update");
  const known = await filterKnown(packages);
  const unknown = packages.filter((name) => Object.values(required).includes(name) && !known.includes(name));
  if (unknown.length > 0) {
    throw new SwarmError("PACKAGES_NOT_INSTALLED", {
      packages: unknown,
      reason: lastLine(update.stderr) || "the package lists do not contain these packages",
    });
  }
  onStep(`Installing ${known.join(", ")} (apt-get install --no-install-recommends)`);
  const install = await apt("install", "--yes", "--no-install-recommends", ...known);
  if (install.exitCode !== 0) {
    throw new SwarmError("PACKAGES_NOT_INSTALLED", {
      packages: known,
      reason: lastLine(install.stderr) || `apt-get exited with code ${install.exitCode}`,
    });
  }
}

async function packagesOf(
  packageByProgram: Readonly<Record<string, string>>,
  env: EnvironmentVariables,
): Promise<string[]> {
  const missing: string[] = [];
  for (const [program, name] of Object.entries(packageByProgram))
    if (!(await findProgram(program, env))) missing.push(name);
  return missing;
}

async function filterKnown(packages: readonly string[]): Promise<string[]> {
  const { execa } = await import("execa");
  const known: string[] = [];
  for (const name of packages)
    if ((await execa("apt-cache", ["show", name], { reject: false })).exitCode === 0) known.push(name);
  return known;
}

async function apt(...args: string[]) {
  const { execa } = await import("execa");
  // Wait for another running apt instead of failing at once.
  const options = ["-o", "DPkg::Lock::Timeout=120", "-qq"];
  return execa("apt-get", [...options, ...args], {
    reject: false,
    stdin: "ignore",
    env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
