/**
 * Removes the oldest entries of a map or a set until at most `maxEntries` remain. This bounds the memory of
 * a collection that untrusted input can fill.
 */
export function removeOldestEntries<Key>(collection: Map<Key, unknown> | Set<Key>, maxEntries = 1_000): void {
  for (const key of collection.keys()) {
    if (collection.size <= maxEntries) return;
    collection.delete(key);
  }
}
