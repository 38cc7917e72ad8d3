const maxLength = 30;

/** The short name of a task file: without its date and `-tasks.json`, `[a-z0-9-]`, at most 30 characters. */
export function slugOf(fileName: string): string {
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

/** A slug for each file, in the given order, made unique by `-2`, `-3` … */
export function uniqueSlugs(fileNames: readonly string[]): string[] {
  const taken = new Set<string>();
  return fileNames.map((fileName) => {
    const slug = slugOf(fileName);
    let unique = slug;
    for (let count = 2; taken.has(unique); count += 1) {
      const suffix = `-${count}`;
      unique = slug.slice(0, maxLength - suffix.length) + suffix;
    }
    taken.add(unique);
    return unique;
  });
}

/** The slug in a worker's container name (`aimi-<project>-<swarm>-<slug>`), or else that of its task file. */
export function workerSlug({
  containerName,
  taskFilePath,
}: {
  containerName: string;
  taskFilePath: string;
}): string {
  const [, slug] = /^aimi-[0-9a-f]{6}-[0-9a-f]{6}-([a-z0-9-]+)(?:\.a\d+)?$/.exec(containerName) ?? [];
  return slug ?? slugOf(taskFilePath.split("/").at(-1) ?? taskFilePath);
}
