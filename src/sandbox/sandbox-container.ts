import type { ContainerLimits, ContainerSpec } from "../engine/containers.ts";
import { labels } from "../engine/engine.ts";
import type { FoundRuntime } from "./find-runtime.ts";
import { defaultTmpBytes, mainProcessUser } from "./sandbox-defaults.ts";

interface SandboxToContain {
  readonly id: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ContainerLimits;
  readonly runtime: Pick<FoundRuntime, "level" | "runtime">;
  /** The time to live in milliseconds; null for a sandbox without one. */
  readonly ttlMs: number | null;
}

/**
 * Returns what the container specs of all sandboxes have in common. The main process is a `sleep` for the time
 * to live. When the `sleep` ends, the container ends, even if no swarm process is running. No program in the
 * sandbox can prevent this.
 */
export function sandboxContainer({
  id,
  workdir,
  env,
  limits,
  runtime: { level, runtime },
  ttlMs,
}: SandboxToContain): Pick<
  ContainerSpec,
  "labels" | "command" | "env" | "user" | "runtime" | "limits" | "capabilities" | "tmpBytes"
> {
  return {
    labels: {
      [labels.sandbox]: "true",
      [labels.role]: "sandbox",
      [labels.sandboxId]: id,
      [labels.isolation]: level,
      [labels.runtime]: runtime,
      [labels.workdir]: workdir,
    },
    command: ["sleep", ttlMs === null ? "infinity" : String(Math.ceil(ttlMs / 1000))],
    env: { HOME: "/tmp", IS_SANDBOX: "1", ...env },
    user: mainProcessUser,
    runtime,
    limits,
    capabilities: [],
    tmpBytes: Math.min(defaultTmpBytes, limits.memoryBytes),
  };
}
