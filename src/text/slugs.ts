const maxLength = 30;

/**
 * Derives a worker's short name (slug) from its task file's name: without date and `-tasks.json`, only
 * `[a-z0-9-]`, at most 30 characters.
 */
export function slugOfTaskFile(fileName: string): string {
  const slug = fileName
    .replace(/-tasks\.json$/, "")
    .replace(/^\d{4}-\d{2}-\d{2}-/, "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, maxLength)
    .replace(/^-+|-+$/g, "");
  return slug || "task";
}

/**
 * Returns a unique slug for each task file's name, in the same order. Adds `-2`, `-3` … if several names have
 * the same slug.
 */
export function uniqueSlugs(fileNames: readonly string[]): string[] {
  const taken = new Set<string>();
  return fileNames.map((fileName) => {
    const slug = slugOfTaskFile(fileName);
    let unique = slug;
    for (let count = 2; taken.has(unique); count += 1) {
      const suffix = `-${count}`;
      unique = slug.slice(0, maxLength - suffix.length) + suffix;
    }
    taken.add(unique);
    return unique;
  });
}

/**
 * Returns a worker's slug from the container's name (`aimi-<project>-<swarm>-<slug>`). If the name has
 * another form, derives the slug from the task file's name.
 */
export function workerSlug({
  containerName,
  taskFilePath,
}: {
  containerName: string;
  taskFilePath: string;
}): string {
  const [, slug] = /^aimi-[0-9a-f]{6}-[0-9a-f]{6}-([a-z0-9-]+)(?:\.a\d+)?$/.exec(containerName) ?? [];
  return slug ?? slugOfTaskFile(taskFilePath.split("/").at(-1) ?? taskFilePath);
}
