interface ProjectSwarm {
  readonly projectId: string;
  readonly swarmId: string;
}

interface WorkerAttempt extends ProjectSwarm {
  readonly slug: string;
  readonly attempt: number;
}

/**
 * Returns the name for the container of a worker's attempt, and for the volume with the attempt's journal.
 * From the second attempt on, the name ends with `.a2`, `.a3` …, which no slug contains.
 */
export function workerContainerName({ slug, attempt, ...swarm }: WorkerAttempt): string {
  const name = `${containerPrefix(swarm)}-${slug}`;
  return attempt === 1 ? name : `${name}.a${attempt}`;
}

/**
 * Returns the name of a container in which swarm checks workers' results. No worker's container has such a
 * name, because slugs contain no dots.
 */
export function nameOfCheckContainer({ place, ...swarm }: ProjectSwarm & { readonly place: number }): string {
  return `${containerPrefix(swarm)}.check${place}`;
}

function containerPrefix({ projectId, swarmId }: ProjectSwarm): string {
  return `aimi-${projectId.slice(0, 6)}-${swarmId.slice(0, 6)}`;
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
export function workerCommitsRefName({ swarmId, slug }: Pick<WorkerAttempt, "swarmId" | "slug">): string {
  return `refs/aimi/${swarmId}/${slug}`;
}

/** Returns the name of the git ref that holds the unfinished work of a failed story. */
export function failedStoryRefName({
  swarmId,
  slug,
  attempt,
  storyId,
}: Omit<WorkerAttempt, "projectId"> & { readonly storyId: string }): string {
  return `refs/aimi/failed/${swarmId}/${slug}/${attempt}-${storyId}`;
}
