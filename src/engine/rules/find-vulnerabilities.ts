import { compareDebianVersions } from "../../text/debian-version.ts";
import { type KnownVulnerability, knownVulnerabilities } from "./known-vulnerabilities.ts";

/** A component of a container engine, such as runc, and its version as the engine reports it. */
export interface EngineComponent {
  readonly name: string;
  /** The component's version. It includes the Linux distribution's revision if the engine reports one. */
  readonly version: string;
}

/** Returns the known vulnerabilities that this version of an engine's component has. */
export function findKnownVulnerabilitiesOfComponent({
  name,
  version,
}: EngineComponent): KnownVulnerability[] {
  return knownVulnerabilities.filter((hole) => hole.part === name && !isFixed(hole, version));
}

function isFixed({ fixedIn, packages }: KnownVulnerability, version: string): boolean {
  const [upstream = "", line] = [upstreamOf(version), lineOf(version)];
  if (packages.some((one) => upstreamOf(one) === upstream && compareDebianVersions(version, one) >= 0))
    return true;
  const same = fixedIn.find((one) => lineOf(one) === line);
  const newest = fixedIn.at(-1) ?? "";
  return compareDebianVersions(upstream, same ?? newest) >= 0;
}

/** Removes the suffix that a Linux distribution added to a version: `1.1.5+ds1-1+deb12u1` becomes `1.1.5`. */
function upstreamOf(version: string): string {
  return /^v?(\d+(?:\.\d+)*(?:-(?:rc|beta|alpha)\.?\d+)?)/.exec(version)?.[1] ?? version;
}

function lineOf(version: string): string {
  return upstreamOf(version).split(".").slice(0, 2).join(".");
}
