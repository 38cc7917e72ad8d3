/**
 * Returns the name for the container of a worker's attempt, and for the volume with the attempt's journal.
 * From the second attempt on, the name ends with `.a2`, `.a3` …, which no slug contains.
 */
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

/**
 * Returns the name of a container in which swarm checks workers' results. No worker's container has such a
 * name, because slugs contain no dots.
 */
export function nameOfCheckContainer({
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

/** Returns the names of the containers of a worker's earlier attempts. */
export function earlierContainerNames(containerName: string): string[] {
  const [, first, attempt] = /^(.*)\.a(\d+)$/.exec(containerName) ?? [];
  if (first === undefined) return [];
  return Array.from({ length: Number(attempt) - 1 }, (_, at) => (at === 0 ? first : `${first}.a${at + 1}`));
}

/**
 * Returns the name of the volume with the conversations of a worker's agent. All attempts of the worker share
 * this volume.
 */
export function homeVolumeName(containerName: string): string {
  return `${containerName.replace(/\.a\d+$/, "")}.home`;
}

/**
 * Returns the name of the git ref that holds a worker's commits, even if the worker's branch moves or
 * disappears.
 */
export function workerCommitsRefName({
  swarmId,
  slug,
}: {
  readonly swarmId: string;
  readonly slug: string;
}): string {
  return `refs/aimi/${swarmId}/${slug}`;
}

/** Returns the name of the git ref that holds the unfinished work of a failed story. */
export function failedStoryRefName({
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
