/** A worker's container and its journal's volume; each attempt has its own. */
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
  return attempt === 1 ? name : `${name}-a${attempt}`;
}

/** The volume of an agent's conversations: the same for all attempts of a worker. */
export function homeVolumeName(containerName: string): string {
  return `${containerName.replace(/-a\d+$/, "")}-home`;
}

/** Where a worker's commits are kept, whatever becomes of its branch. */
export function workRefOf({ swarmId, slug }: { readonly swarmId: string; readonly slug: string }): string {
  return `refs/aimi/${swarmId}/${slug}`;
}
