import { type ContainerEngine, labels } from "../engine/engine.ts";
import { isolationLevels } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { createSandboxHandle, type OpenSandboxOptions, type Sandbox } from "./sandbox.ts";
import { defaultWorkdir } from "./sandbox-defaults.ts";

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
  const sandbox = {
    id: facts.id,
    name: facts.name,
    diskLimit: "watched",
    workdir: facts.labels[labels.workdir] ?? defaultWorkdir,
    runtime: facts.labels[labels.runtime] ?? "unknown",
    isolation: level ?? "shared-kernel",
  } as const;
  return createSandboxHandle(containers, sandbox, options);
}
