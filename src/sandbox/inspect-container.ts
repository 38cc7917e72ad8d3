import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { ContainerFacts, Containers } from "../engine/containers.ts";
import { labels } from "../engine/engine.ts";

/**
 * Returns the container name of a sandbox, derived from the sandbox's ID. So swarm can find the container
 * even if the creation of the sandbox was interrupted.
 */
export function sandboxContainerName(id: string): string {
  // Engines require lower case. The suffix encodes the case of each character, so ids that differ only in
  // case get different names.
  const marks = [...id].map((character) => (character === character.toLowerCase() ? "0" : "1")).join("");
  const suffix = Number.parseInt(marks, 2).toString(36);
  return `aimi-sandbox-${id.toLowerCase().replaceAll("_", "-u")}-${suffix}`;
}

/**
 * Returns the state of a sandbox's container; null if the container does not exist, or if its label has the
 * ID of another sandbox. The record of the sandbox is not enough: a record from another user could name any
 * container.
 */
export async function inspectOwnContainer(
  containers: Pick<Containers, "inspect">,
  { id, container }: Pick<SandboxRecord, "id" | "container">,
  signal?: AbortSignal,
): Promise<ContainerFacts | null> {
  const facts = await containers.inspect(container?.id ?? sandboxContainerName(id), undefined, signal);
  return facts?.labels[labels.sandboxId] === id ? facts : null;
}
