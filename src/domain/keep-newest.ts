/** Lets the oldest go, by when they were put in, until there are at most so many. For what others fill as they like. */
export function keepNewest<Key>(collection: Map<Key, unknown> | Set<Key>, most = 1_000): void {
  for (const key of collection.keys()) {
    if (collection.size <= most) return;
    collection.delete(key);
  }
}
