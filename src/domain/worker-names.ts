/** The name of an attempt's container and of its journal's volume. A slug has no dots, so names of workers never collide. */
export function workerContainerName({
  projectId,
  swarmId,
  slug,
  attempt,
}: {
  readonly projectId: string;
  readonly swarmId: string;
  readonly slug: string;
  readonly attempt: number;
}): string {
  const name = `aimi-${projectId.slice(0, 6)}-${swarmId.slice(0, 6)}-${slug}`;
  return attempt === 1 ? name : `${name}.a${attempt}`;
}

/** The name of a sandbox, by number, in which swarm checks results; no slug begins with a dot. */
export function checkContainerName({
  projectId,
  swarmId,
  place,
}: {
  readonly projectId: string;
  readonly swarmId: string;
  readonly place: number;
}): string {
  return `aimi-${projectId.slice(0, 6)}-${swarmId.slice(0, 6)}.check${place}`;
}

/** The container names of a worker's earlier attempts. */
export function attemptsBefore(containerName: string): string[] {
  const [, first, attempt] = /^(.*)\.a(\d+)$/.exec(containerName) ?? [];
  if (first === undefined) return [];
  return Array.from({ length: Number(attempt) - 1 }, (_, at) => (at === 0 ? first : `${first}.a${at + 1}`));
}

/** The name of the volume of an agent's conversations: the same for all attempts of a worker. */
export function homeVolumeName(containerName: string): string {
  return `${containerName.replace(/\.a\d+$/, "")}.home`;
}

/** The ref that keeps a worker's commits, whatever happens to its branch. */
export function workRefOf({ swarmId, slug }: { readonly swarmId: string; readonly slug: string }): string {
  return `refs/aimi/${swarmId}/${slug}`;
}

/** The ref that keeps the unfinished work of a story that failed. */
export function failedRefOf({
  swarmId,
  slug,
  attempt,
  storyId,
}: {
  readonly swarmId: string;
  readonly slug: string;
  readonly attempt: number;
  readonly storyId: string;
}): string {
  return `refs/aimi/failed/${swarmId}/${slug}/${attempt}-${storyId}`;
}
