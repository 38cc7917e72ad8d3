import type { ContainerStats } from "../engine/containers.ts";
import { openProjectSandboxes, type SandboxProject } from "./open-project-sandboxes.ts";
import { findRunningSandbox } from "./running-sandbox.ts";

interface SandboxStats extends ContainerStats {
  /** The size of the container's writable layer in bytes; null if the engine does not know it. */
  readonly diskBytes: number | null;
}

/** Measures what a sandbox uses of its machine. If `wanted` is null, measures the latest sandbox. */
export async function measureSandbox(
  project: SandboxProject,
  wanted: string | null,
  signal: AbortSignal,
): Promise<SandboxStats> {
  const sandboxes = await openProjectSandboxes(project);
  const { containers, containerId } = await findRunningSandbox(sandboxes, wanted, signal);
  const facts = await containers.inspect(containerId, { withDisk: true }, signal);
  return { ...(await containers.stats(containerId, signal)), diskBytes: facts?.diskBytes ?? null };
}
