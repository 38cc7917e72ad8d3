import type { IsolatedRepository } from "./isolated-repository.ts";

/**
 * Reads the contents of git blobs with the given IDs. The content is null if the blob is larger than
 * `maxFileBytes`, or if the ID does not name a blob.
 */
export async function readSmallBlobs(
  repo: IsolatedRepository,
  ids: readonly string[],
  maxFileBytes: number,
): Promise<ReadonlyMap<string, string | null>> {
  const unique = [...new Set(ids)].filter((id) => !/^0+$/.test(id));
  const found = new Map<string, string | null>(unique.map((id) => [id, null]));
  const facts = await repo.objects.readFacts(unique);
  const small = unique.filter((_, at) => {
    const file = facts[at];
    return file?.type === "blob" && file.bytes <= maxFileBytes;
  });
  let at = 0;
  for await (const content of repo.objects.readContents(small))
    found.set(small[at++] ?? "", content.toString());
  return found;
}
