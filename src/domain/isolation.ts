/** From weakest to strongest, by what was found between the agent and the host. */
export const isolationLevels = ["shared-kernel", "userns", "strong"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Runtimes in the order in which `auto` takes them. */
export const preferredRuntimes: readonly string[] = ["sysbox-runc", "runsc", "kata", "kata-runtime", "runc"];

/** What the probe saw from inside a container, `schemas/probe.schema.json`. */
export type { Probe } from "./generated/probe.ts";

import type { Probe } from "./generated/probe.ts";

/** What a runtime turned out to be. */
export interface MeasuredRuntime {
  readonly level: IsolationLevel;
  /** What was seen, in a few words. */
  readonly evidence: string;
  /** Set when the runtime is not what its name says. */
  readonly falseName: string | null;
  /** Confinement that was asked for and is not there. */
  readonly unconfined: readonly string[];
  /** Program steps that an agent needs and that failed, with the reason. */
  readonly unusable: readonly string[];
}

/** Judges a runtime by what a container of it saw. Its name proves nothing. */
export function judgeIsolation(runtime: string, probe: Probe, engineKernel: string): MeasuredRuntime {
  const level = levelOf(probe, engineKernel);
  return {
    level,
    evidence: evidenceOf(level, probe, engineKernel),
    falseName: falseNameOf(runtime, level, probe),
    unconfined: unconfinedOf(level, probe),
    unusable: probe.steps.flatMap(({ step, error }) => (error === null ? [] : [`${step}: ${error}`])),
  };
}

/** Whether a measured level satisfies what was asked for. */
export function isAtLeast(level: IsolationLevel, wanted: IsolationLevel): boolean {
  return isolationLevels.indexOf(level) >= isolationLevels.indexOf(wanted);
}

/** The stronger of two demands; `auto` demands nothing. */
export function strongerOf(
  one: "auto" | IsolationLevel,
  other: "auto" | IsolationLevel,
): "auto" | IsolationLevel {
  if (one === "auto") return other;
  return other === "auto" || isAtLeast(one, other) ? one : other;
}

function levelOf(probe: Probe, engineKernel: string): IsolationLevel {
  if (probe.kernelRelease !== engineKernel) return "strong";
  return rootOutside(probe) === 0 ? "shared-kernel" : "userns";
}

/** The host's user id behind root inside; 0 when nothing is mapped, for that is what protects nothing. */
function rootOutside({ uidMap }: Probe): number {
  return uidMap.find(({ inside }) => inside === 0)?.outside ?? 0;
}

function evidenceOf(level: IsolationLevel, probe: Probe, engineKernel: string): string {
  switch (level) {
    case "strong":
      return `its own kernel ${probe.kernelRelease}, the engine's is ${engineKernel}`;
    case "userns":
      return `root inside is user ${rootOutside(probe)} outside`;
    case "shared-kernel":
      return "the engine's kernel, and root inside is root outside";
  }
}

/**
 * What stands open that was asked to be closed. A kernel of its own, and Sysbox, have a confinement of their own; what is
 * the host's must not be there in any case.
 */
function unconfinedOf(level: IsolationLevel, probe: Probe): string[] {
  const { capabilities, noNewPrivileges, seccomp, userId, sharedNamespaces, devices, hostMounts, openPaths } =
    probe;
  const found: string[] = [];
  if (userId === 0) found.push("an agent would be root");
  if (/[1-9a-f]/.test(capabilities)) found.push("an agent would have capabilities");
  for (const name of sharedNamespaces) found.push(`it shares the host's ${name} namespace`);
  if (level === "strong" || (level === "userns" && hasSysboxMounts(probe))) return found;
  if (noNewPrivileges === false) found.push("an agent could gain privileges");
  if (seccomp === 0) found.push("no seccomp filter");
  if (devices.length > 0) found.push(`it has devices of the host: ${devices.slice(0, 3).join(", ")}`);
  if (hostMounts.length > 0)
    found.push(`something of the host is mounted at ${hostMounts.slice(0, 3).join(", ")}`);
  if (openPaths.length > 0) found.push(`${openPaths.join(", ")} stand open`);
  return found;
}

function hasSysboxMounts({ mountTypes }: Probe): boolean {
  return mountTypes.some((type) => type.includes("sysboxfs"));
}

function falseNameOf(runtime: string, level: IsolationLevel, probe: Probe): string | null {
  if (runtime.includes("sysbox") && !(hasSysboxMounts(probe) && level === "userns")) {
    return hasSysboxMounts(probe)
      ? "called sysbox, but root inside is root outside"
      : "called sysbox, but none of Sysbox's mounts are there: another runtime under its name";
  }
  if (/runsc|gvisor|kata/.test(runtime) && level !== "strong")
    return `called ${runtime}, but it runs on the engine's own kernel`;
  return null;
}
