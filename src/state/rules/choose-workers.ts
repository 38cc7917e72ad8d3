import { SwarmError } from "../../errors/errors.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { ContainerRecord, SwarmState } from "./swarm-state.ts";

const groups: Readonly<Record<string, (record: ContainerRecord) => boolean>> = {
  "@all": () => true,
  "@failed": ({ status }) => status === "failed",
  "@running": ({ status }) => status === "running",
};

/**
 * Finds the workers that a command's arguments name, in the order in which the swarm lists its workers. An
 * argument is a worker's slug, an unambiguous prefix of a slug, a container's name, or one of `@failed`,
 * `@running` and `@all`. Any other argument throws.
 */
export function findWorkersByArguments(
  { containers }: SwarmState,
  words: readonly string[],
): ContainerRecord[] {
  const chosen = new Set(words.flatMap((word) => workersNamed(containers, word)));
  return containers.filter((record) => chosen.has(record));
}

/** Finds the worker that a command's argument names. Throws if the argument names no worker or several. */
export function findWorkerByArgument(state: SwarmState, word: string): ContainerRecord {
  const [record, another] = findWorkersByArguments(state, [word]);
  if (record && !another) return record;
  throw new SwarmError("WORKER_UNKNOWN", { word, known: state.containers.map(workerSlug) });
}

function workersNamed(containers: readonly ContainerRecord[], word: string): ContainerRecord[] {
  const group = groups[word];
  if (group) return containers.filter(group);
  const exact = containers.find((record) => workerSlug(record) === word || record.containerName === word);
  if (exact) return [exact];
  const found = containers.filter((record) => workerSlug(record).startsWith(word));
  if (found.length === 1) return found;
  const known = (found.length > 1 ? found : containers).map(workerSlug);
  throw new SwarmError("WORKER_UNKNOWN", { word, known });
}
