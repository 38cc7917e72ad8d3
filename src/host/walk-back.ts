import type { ObjectReader } from "./object-reader.ts";

/** Further back it is git's own walk that is cheaper, and no honest commit is larger. */
const [mostSteps, mostTogether, mostBytes] = [32, 64, 64 * 1024];

/**
 * Whether commits are the tip or among its ancestors, where a few steps back show it: the work of a story is rarely more.
 * False says only that these steps did not.
 */
export async function seenNearby(
  objects: ObjectReader,
  commits: readonly string[],
  tip: string,
): Promise<boolean> {
  const missing = new Set(commits);
  const seen = new Set<string>();
  let layer = [tip];
  for (let step = 0; step < mostSteps && layer.length > 0; step += 1) {
    for (const id of layer) {
      seen.add(id);
      missing.delete(id);
    }
    if (missing.size === 0) return true;
    const facts = await objects.about(layer);
    const isPlain = facts.every((fact) => fact?.type === "commit" && fact.bytes <= mostBytes);
    if (!isPlain || layer.length > mostTogether) return false;
    const parents = new Set<string>();
    for await (const commit of objects.contents(layer))
      for (const id of parentsIn(commit)) if (!seen.has(id)) parents.add(id);
    layer = [...parents];
  }
  return false;
}

/** As git reads them: right after the tree's line, and nowhere else. */
function parentsIn(commit: Buffer): string[] {
  const [, rows = ""] =
    /^tree [0-9a-f]{40}\n((?:parent [0-9a-f]{40}\n)*)/.exec(commit.toString("latin1")) ?? [];
  return [...rows.matchAll(/[0-9a-f]{40}/g)].map(([id]) => id);
}
