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

/**
 * Compares two versions as Debian does: numbers by their value, and `~` before the end of the text, so that
 * `1.0~rc1` comes before `1.0`.
 */
export function compareDebianVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) =>
    version.replace(/-(?=rc|beta|alpha)/, "~").match(/\d+|\D+/g),
  );
  const [a, b] = [left ?? [], right ?? []];
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [x = "", y = ""] = [a[at], b[at]];
    const isNumber = /^\d*$/.test(x) && /^\d*$/.test(y) && !(x === "" && y === "");
    const order = isNumber ? Number(x) - Number(y) : compareWords(x, y);
    if (order !== 0) return order;
  }
  return 0;
}

function compareWords(x: string, y: string): number {
  for (let at = 0; at < Math.max(x.length, y.length); at += 1) {
    const order = weightOf(x[at]) - weightOf(y[at]);
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * Returns the rank of a version's character in Debian's order. The order is `~`, then a digit or the end of
 * the text (undefined), then letters, then other characters.
 */
function weightOf(sign: string | undefined): number {
  if (sign === "~") return -1;
  if (sign === undefined || /\d/.test(sign)) return 0;
  return /[a-z]/i.test(sign) ? sign.charCodeAt(0) : sign.charCodeAt(0) + 256;
}
