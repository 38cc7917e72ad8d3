import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { ContainerFacts, Containers } from "../ports/containers.ts";
import { labels } from "../ports/engine.ts";

/**
 * Returns the container name of a sandbox. The name is derived from the sandbox's id, so that the container
 * of an interrupted creation can be found.
 */
export function sandboxContainerName(id: string): string {
  // Engines require lower case. The suffix encodes the case of each character, so ids that differ only in
  // case get different names.
  const marks = [...id].map((character) => (character === character.toLowerCase() ? "0" : "1")).join("");
  const suffix = Number.parseInt(marks, 2).toString(36);
  return `aimi-sandbox-${id.toLowerCase().replaceAll("_", "-u")}-${suffix}`;
}

/**
 * Returns the facts about a sandbox's container; null if the container is gone or its label has another
 * sandbox's id. The label is checked because a record from another user's checkout could name any container.
 */
export async function inspectOwnContainer(
  containers: Containers,
  { id, container }: Pick<SandboxRecord, "id" | "container">,
  signal?: AbortSignal,
): Promise<ContainerFacts | null> {
  const facts = await containers.inspect(container?.id ?? sandboxContainerName(id), undefined, signal);
  return facts?.labels[labels.sandboxId] === id ? facts : null;
}
