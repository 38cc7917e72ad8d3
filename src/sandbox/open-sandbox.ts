import { type ContainerEngine, labels } from "../engine/engine.ts";
import { isolationLevels } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { createSandboxHandle, type Sandbox } from "./sandbox.ts";
import { defaultCommandTimeoutMs, defaultMaxOutputLength, defaultWorkdir } from "./sandbox-defaults.ts";

export interface OpenSandboxOptions {
  readonly commandTimeoutMs?: number;
  readonly outputLimit?: number;
}

/** Opens an existing sandbox by its container's name or ID. The first twelve characters of the ID suffice. */
export async function openSandbox(
  engine: ContainerEngine,
  id: string,
  options: OpenSandboxOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  const { containers } = await engine.open();
  const facts = await containers.inspect(id, undefined, signal);
  // Refuses containers that swarm did not create.
  if (facts?.labels[labels.role] !== "sandbox") throw new SwarmError("SANDBOX_UNKNOWN", { id });
  const level = isolationLevels.find((known) => known === facts.labels[labels.isolation]);
  return createSandboxHandle(containers, {
    ...{ id: facts.id, name: facts.name, diskLimit: "watched" },
    workdir: facts.labels[labels.workdir] ?? defaultWorkdir,
    runtime: facts.labels[labels.runtime] ?? "unknown",
    isolation: level ?? "shared-kernel",
    commandTimeoutMs: options.commandTimeoutMs ?? defaultCommandTimeoutMs,
    outputLimit: options.outputLimit ?? defaultMaxOutputLength,
  });
}
