import { type KnownHole, knownHoles } from "./safe-versions.ts";

/** A part of an engine, as the engine tells of it. */
export interface EnginePart {
  readonly name: string;
  /** With its distribution's revision where that is told. */
  readonly version: string;
}

/** The holes that are open in a part by its version. */
export function findHoles({ name, version }: EnginePart): KnownHole[] {
  return knownHoles.filter((hole) => hole.part === name && !isClosed(hole, version));
}

function isClosed({ closedIn, packages }: KnownHole, version: string): boolean {
  const [upstream = "", line] = [upstreamOf(version), lineOf(version)];
  if (packages.some((one) => upstreamOf(one) === upstream && compareVersions(version, one) >= 0)) return true;
  const same = closedIn.find((one) => lineOf(one) === line);
  const newest = closedIn.at(-1) ?? "";
  return compareVersions(upstream, same ?? newest) >= 0;
}

/** Without what a distribution adds: `1.1.5+ds1-1+deb12u1` is a 1.1.5. */
function upstreamOf(version: string): string {
  return /^v?(\d+(?:\.\d+)*(?:-(?:rc|beta|alpha)\.?\d+)?)/.exec(version)?.[1] ?? version;
}

function lineOf(version: string): string {
  return upstreamOf(version).split(".").slice(0, 2).join(".");
}

/** As Debian orders versions: numbers by their value, and what comes after a `~` before everything. */
export function compareVersions(one: string, other: string): number {
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

/** The end comes after a `~` and before all else, digits among the letters' ends, and letters before other signs. */
function weightOf(sign: string | undefined): number {
  if (sign === "~") return -1;
  if (sign === undefined || /\d/.test(sign)) return 0;
  return /[a-z]/i.test(sign) ? sign.charCodeAt(0) : sign.charCodeAt(0) + 256;
}
