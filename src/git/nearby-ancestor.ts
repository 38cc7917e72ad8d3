import type { GitObjectReader } from "./object-reader.ts";

/**
 * The limits of the search: steps back from the tip, commits per step, and bytes per commit object. Beyond
 * these limits, `git rev-list` is cheaper.
 */
const [maxSteps, maxBatch, maxBytes] = [32, 64, 64 * 1024];

/**
 * Returns whether each of the commits is the tip or one of its near ancestors. False means only that the
 * search within its limits did not find all of the commits.
 */
export async function areNearbyAncestors(
  objects: GitObjectReader,
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
    const facts = await objects.readFacts(layer);
    const isPlain = facts.every((fact) => fact?.type === "commit" && fact.bytes <= maxBytes);
    if (!isPlain || layer.length > maxBatch) return false;
    const parents = new Set<string>();
    for await (const commit of objects.readContents(layer))
      for (const id of parentsIn(commit)) if (!seen.has(id)) parents.add(id);
    layer = [...parents];
  }
  return false;
}

/**
 * Returns the parents' IDs in a raw commit object. Like git, reads only the `parent` lines that directly
 * follow the `tree` line.
 */
function parentsIn(commit: Buffer): string[] {
  const [, rows = ""] =
    /^tree [0-9a-f]{40}\n((?:parent [0-9a-f]{40}\n)*)/.exec(commit.toString("latin1")) ?? [];
  return [...rows.matchAll(/[0-9a-f]{40}/g)].map(([id]) => id);
}
