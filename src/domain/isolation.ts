/** Levels from weakest to strongest, by the separation that was measured between the agent and the host. */
export const isolationLevels = ["shared-kernel", "userns", "strong"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Runtimes in the order of preference of `auto`. */
export const preferredRuntimes: readonly string[] = ["sysbox-runc", "runsc", "kata", "kata-runtime", "runc"];

/** The probe's findings inside a container, `schemas/probe.schema.json`. */
export type { Probe } from "./generated/probe.ts";

import type { Probe } from "./generated/probe.ts";

/** The measured properties of a runtime. */
export interface RuntimeIsolation {
  readonly level: IsolationLevel;
  /** The observation behind the level, in a few words. */
  readonly evidence: string;
  /** The contradiction between the runtime and its name; null if there is none. */
  readonly falseName: string | null;
  /** Confinement that was requested and is missing. */
  readonly unconfined: readonly string[];
  /** Program steps that an agent needs and that failed, with the reason. */
  readonly unusable: readonly string[];
}

/** Judges a runtime by what the probe found in a container of it. Its name proves nothing. */
export function judgeIsolation(runtime: string, probe: Probe, engineKernel: string): RuntimeIsolation {
  const level = levelOf(probe, engineKernel);
  return {
    level,
    evidence: evidenceOf(level, probe, engineKernel),
    falseName: falseNameOf(runtime, level, probe),
    unconfined: unconfinedOf(level, probe),
    unusable: probe.steps.flatMap(({ step, error }) => (error === null ? [] : [`${step}: ${error}`])),
  };
}

/** Whether a measured level satisfies a demand. */
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

/** The host's user id of the container's root; 0 if nothing is mapped, since that protects nothing. */
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
 * Requested confinement that is missing. Runtimes with a kernel of their own, and Sysbox, confine in their own way; root,
 * capabilities and namespaces of the host are wrong under every runtime.
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
