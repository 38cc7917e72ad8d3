import type { ObjectReader } from "./object-reader.ts";

/** Limits of the search: beyond them git's own walk is cheaper, and no honest commit is larger. */
const [maxSteps, maxBatch, maxBytes] = [32, 64, 64 * 1024];

/**
 * Whether all commits are the tip or among its ancestors, as far as a few steps back can show it; the work of
 * a story is rarely longer. False only means that these steps did not find them.
 */
export async function areNearbyAncestors(
  objects: ObjectReader,
  commits: readonly string[],
  tip: string,
): Promise<boolean> {
  const missing = new Set(commits);
  const seen = new Set<string>();
  let layer = [tip];
  for (let step = 0; step < maxSteps && layer.length > 0; step += 1) {
    for (const id of layer) {
      seen.add(id);
      missing.delete(id);
    }
    if (missing.size === 0) return true;
    const facts = await objects.about(layer);
    const isPlain = facts.every((fact) => fact?.type === "commit" && fact.bytes <= maxBytes);
    if (!isPlain || layer.length > maxBatch) return false;
    const parents = new Set<string>();
    for await (const commit of objects.contents(layer))
      for (const id of parentsIn(commit)) if (!seen.has(id)) parents.add(id);
    layer = [...parents];
  }
  return false;
}

/** Parses a commit's parents as git does: only right after the line of the tree. */
function parentsIn(commit: Buffer): string[] {
  const [, rows = ""] =
    /^tree [0-9a-f]{40}\n((?:parent [0-9a-f]{40}\n)*)/.exec(commit.toString("latin1")) ?? [];
  return [...rows.matchAll(/[0-9a-f]{40}/g)].map(([id]) => id);
}
