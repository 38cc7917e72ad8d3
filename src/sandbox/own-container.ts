import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { ContainerFacts, Containers } from "../ports/containers.ts";
import { labels } from "../ports/engine.ts";

/** The container's name, which an interrupted creation is found by. */
export function containerNameOf(id: string): string {
  // Engines want lower case; two ids that differ in case only are told apart by what follows.
  const marks = [...id].map((character) => (character === character.toLowerCase() ? "0" : "1")).join("");
  const suffix = Number.parseInt(marks, 2).toString(36);
  return `aimi-sandbox-${id.toLowerCase().replaceAll("_", "-u")}-${suffix}`;
}

/**
 * The container of a record; null when it is gone. A record is a file in a folder that somebody else may have made: what
 * it names is ours only if the container says so too.
 */
export async function lookOwn(
  containers: Containers,
  { id, container }: Pick<SandboxRecord, "id" | "container">,
  signal?: AbortSignal,
): Promise<ContainerFacts | null> {
  const facts = await containers.look(container?.id ?? containerNameOf(id), undefined, signal);
  return facts?.labels[labels.sandboxId] === id ? facts : null;
}
