/** Removes the entries that were added first until at most `most` remain. Bounds collections with entries from outside. */
export function keepNewest<Key>(collection: Map<Key, unknown> | Set<Key>, maxEntries = 1_000): void {
  for (const key of collection.keys()) {
    if (collection.size <= maxEntries) return;
    collection.delete(key);
  }
}
