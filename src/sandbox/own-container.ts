import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { ContainerFacts, Containers } from "../ports/containers.ts";
import { labels } from "../ports/engine.ts";

/** The container's name. It is derived from the id, so that an interrupted creation can be found. */
export function containerNameOf(id: string): string {
  // Engines want lower case; the suffix encodes the case, so ids that differ only in case get different names.
  const marks = [...id].map((character) => (character === character.toLowerCase() ? "0" : "1")).join("");
  const suffix = Number.parseInt(marks, 2).toString(36);
  return `aimi-sandbox-${id.toLowerCase().replaceAll("_", "-u")}-${suffix}`;
}

/**
 * The container of a record; null if it is gone. A record may come from another user's checkout and name any container, so
 * the container's own label has to agree.
 */
export async function inspectOwn(
  containers: Containers,
  { id, container }: Pick<SandboxRecord, "id" | "container">,
  signal?: AbortSignal,
): Promise<ContainerFacts | null> {
  const facts = await containers.look(container?.id ?? containerNameOf(id), undefined, signal);
  return facts?.labels[labels.sandboxId] === id ? facts : null;
}
