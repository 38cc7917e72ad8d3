/**
 * Removes the oldest entries of a collection until at most `maxEntries` remain. That bounds the memory of a collection
 * whose entries come from outside.
 */
export function removeOldestEntries<Key>(collection: Map<Key, unknown> | Set<Key>, maxEntries = 1_000): void {
  for (const key of collection.keys()) {
    if (collection.size <= maxEntries) return;
    collection.delete(key);
  }
}
