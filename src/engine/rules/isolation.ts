/** The isolation levels that swarm can measure between an agent and the host, from weakest to strongest. */
export const isolationLevels = ["shared-kernel", "userns", "strong"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** The container runtimes, in the order in which swarm prefers them if the isolation setting is `auto`. */
export const preferredRuntimes: readonly string[] = ["sysbox-runc", "runsc", "kata", "kata-runtime", "runc"];

/**
 * The findings of swarm's probe, a program that examines its container from inside
 * (`schemas/probe.schema.json`).
 */
export type { Probe } from "../../contract/probe.ts";

import type { Probe } from "../../contract/probe.ts";

/** The isolation that swarm measured for a container runtime, and the faults that it found. */
export interface RuntimeIsolation {
  readonly level: IsolationLevel;
  /** A short description of the observation that decides the level. */
  readonly evidence: string;
  /**
   * How the findings contradict the runtime's name, such as a runtime named `sysbox` without Sysbox's
   * mounts; null if they agree.
   */
  readonly falseName: string | null;
  /**
   * The missing parts of the confinement that swarm requested for the container, such as a seccomp filter.
   */
  readonly unconfined: readonly string[];
  /** The operations that an agent's programs need but that failed in the container, each with the reason. */
  readonly unusable: readonly string[];
}

/**
 * Determines the isolation of a container runtime from the probe's findings in one of its containers. The
 * runtime's name alone proves nothing.
 */
export function judgeRuntimeIsolation(runtime: string, probe: Probe, engineKernel: string): RuntimeIsolation {
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

/** Returns the stronger of two demanded isolation levels. The level `auto` demands nothing. */
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
 * Returns the user ID on the host to which the container's root user is mapped. Returns 0, the host's root,
 * if there is no such mapping.
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
 * Finds parts of the requested confinement that are missing in a container. The container's user and
 * capabilities, and namespaces shared with the host, are checked under every runtime. The other checks do
 * not apply to Sysbox or to runtimes with their own kernel, because these confine in other ways.
 */
function unconfinedOf(level: IsolationLevel, probe: Probe): string[] {
  const { capabilities, noNewPrivileges, seccomp, userId, sharedNamespaces, devices, hostMounts, openPaths } =
    probe;
  const isConfinedOtherwise = level === "strong" || (level === "userns" && hasSysboxMounts(probe));
  const found = [
    userId === 0 && "an agent would run as root",
    /[1-9a-f]/.test(capabilities) && "the agent's processes would have Linux capabilities",
    ...sharedNamespaces.map((name) => `the sandbox shares the host's ${name} namespace`),
    ...(isConfinedOtherwise
      ? []
      : [
          noNewPrivileges === false && "an agent's processes could gain privileges",
          seccomp === 0 && "the sandbox has no seccomp filter",
          devices.length > 0 && `the sandbox has devices of the host: ${devices.slice(0, 3).join(", ")}`,
          hostMounts.length > 0 &&
            `the sandbox has mounts of the host at ${hostMounts.slice(0, 3).join(", ")}`,
          openPaths.length > 0 && `the engine does not protect ${openPaths.join(", ")}`,
        ]),
  ];
  return found.filter((problem) => problem !== false);
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
