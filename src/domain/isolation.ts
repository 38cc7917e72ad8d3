/** The levels of isolation that can be measured between an agent and the host, from weakest to strongest. */
export const isolationLevels = ["shared-kernel", "userns", "strong"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Container runtimes, in the order in which the setting `auto` prefers them. */
export const preferredRuntimes: readonly string[] = ["sysbox-runc", "runsc", "kata", "kata-runtime", "runc"];

/** The findings of the probe, a program that examines a container from inside (`schemas/probe.schema.json`). */
export type { Probe } from "./generated/probe.ts";

import type { Probe } from "./generated/probe.ts";

/** The measured isolation of a container runtime, and the faults that the measurement found. */
export interface RuntimeIsolation {
  readonly level: IsolationLevel;
  /** The observation from which the level follows, in a few words. */
  readonly evidence: string;
  /**
   * How the findings contradict the runtime's name, such as `sysbox` without Sysbox's mounts; null if they do
   * not.
   */
  readonly falseName: string | null;
  /** Confinement that swarm requested and that is missing, such as a seccomp filter. */
  readonly unconfined: readonly string[];
  /** Operations that an agent's programs need and that failed in the container, each with the reason. */
  readonly unusable: readonly string[];
}

/** Judges a container runtime by the probe's findings in one of its containers. The runtime's name proves nothing. */
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

/** Returns whether a measured isolation level is at least as strong as the demanded level. */
export function isIsolationAtLeast(level: IsolationLevel, wanted: IsolationLevel): boolean {
  return isolationLevels.indexOf(level) >= isolationLevels.indexOf(wanted);
}

/** Returns the stronger of two demanded isolation levels; `auto` demands nothing. */
export function strongerIsolation(
  one: "auto" | IsolationLevel,
  other: "auto" | IsolationLevel,
): "auto" | IsolationLevel {
  if (one === "auto") return other;
  return other === "auto" || isIsolationAtLeast(one, other) ? one : other;
}

function levelOf(probe: Probe, engineKernel: string): IsolationLevel {
  if (probe.kernelRelease !== engineKernel) return "strong";
  return rootOutside(probe) === 0 ? "shared-kernel" : "userns";
}

/**
 * Returns the host's user id to which root in the container is mapped. Returns 0, the host's root, if root is
 * not mapped.
 */
function rootOutside({ uidMap }: Probe): number {
  return uidMap.find(({ inside }) => inside === 0)?.outside ?? 0;
}

function evidenceOf(level: IsolationLevel, probe: Probe, engineKernel: string): string {
  switch (level) {
    case "strong":
      return `the sandbox has its own kernel ${probe.kernelRelease}, and the engine's host has the kernel ${engineKernel}`;
    case "userns":
      return `root in the sandbox is user ${rootOutside(probe)} on the host`;
    case "shared-kernel":
      return "the sandbox shares the kernel of the engine's host, and root in the sandbox is root on the host";
  }
}

/**
 * Finds confinement that swarm requested and that is missing in a container. Root, capabilities and shared
 * namespaces of the host are faults under every runtime. The other checks do not apply to Sysbox and to
 * runtimes with their own kernel, because these runtimes confine in other ways.
 */
function unconfinedOf(level: IsolationLevel, probe: Probe): string[] {
  const { capabilities, noNewPrivileges, seccomp, userId, sharedNamespaces, devices, hostMounts, openPaths } =
    probe;
  const found: string[] = [];
  if (userId === 0) found.push("an agent would run as root");
  if (/[1-9a-f]/.test(capabilities)) found.push("the agent's processes would have Linux capabilities");
  for (const name of sharedNamespaces) found.push(`the sandbox shares the host's ${name} namespace`);
  if (level === "strong" || (level === "userns" && hasSysboxMounts(probe))) return found;
  if (noNewPrivileges === false) found.push("an agent's processes could gain privileges");
  if (seccomp === 0) found.push("the sandbox has no seccomp filter");
  if (devices.length > 0)
    found.push(`the sandbox has devices of the host: ${devices.slice(0, 3).join(", ")}`);
  if (hostMounts.length > 0)
    found.push(`the sandbox has mounts of the host at ${hostMounts.slice(0, 3).join(", ")}`);
  if (openPaths.length > 0) found.push(`the engine does not protect ${openPaths.join(", ")}`);
  return found;
}

function hasSysboxMounts({ mountTypes }: Probe): boolean {
  return mountTypes.some((type) => type.includes("sysboxfs"));
}

function falseNameOf(runtime: string, level: IsolationLevel, probe: Probe): string | null {
  if (runtime.includes("sysbox") && !(hasSysboxMounts(probe) && level === "userns")) {
    return hasSysboxMounts(probe)
      ? "the runtime is called sysbox, but root in the sandbox is root on the host"
      : "the runtime is called sysbox, but the sandbox has none of Sysbox's mounts: another runtime uses this name";
  }
  if (/runsc|gvisor|kata/.test(runtime) && level !== "strong")
    return `the runtime is called ${runtime}, but the sandbox uses the kernel of the engine's host`;
  return null;
}
