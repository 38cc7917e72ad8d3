/** A worker's container and its journal's volume; each attempt has its own. A slug has no dots, so no two workers' names meet. */
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

/** A sandbox in which the results of a swarm are checked, the first or another one; no slug begins with a dot. */
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

/** The names of a worker's earlier attempts. */
export function attemptsBefore(containerName: string): string[] {
  const [, first, attempt] = /^(.*)\.a(\d+)$/.exec(containerName) ?? [];
  if (first === undefined) return [];
  return Array.from({ length: Number(attempt) - 1 }, (_, at) => (at === 0 ? first : `${first}.a${at + 1}`));
}

/** The volume of an agent's conversations: the same for all attempts of a worker. */
export function homeVolumeName(containerName: string): string {
  return `${containerName.replace(/\.a\d+$/, "")}.home`;
}

/** Where a worker's commits are kept, whatever becomes of its branch. */
export function workRefOf({ swarmId, slug }: { readonly swarmId: string; readonly slug: string }): string {
  return `refs/aimi/${swarmId}/${slug}`;
}

/** Where the unfinished work of a story that failed is kept. */
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
