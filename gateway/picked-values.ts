/** One value found at a wanted path. */
export interface Picked {
  /** The value; `undefined` when it was too long to keep, or its path ends in `?`. */
  readonly value: unknown;
  /** The offset of its first byte in the input. */
  readonly start: number;
  readonly end: number;
}

/** The values found in one object at the top of the text or in a top-level array, by path. */
export interface PickedRecord {
  readonly start: number;
  readonly values: ReadonlyMap<string, readonly Picked[]>;
  /** Whether values are missing because they exceeded the memory limit. */
  readonly isCut: boolean;
}

/** The wanted paths at and below a key. */
export interface Interest {
  readonly path: string;
  /** Whether to keep the value. */
  readonly isWanted: boolean;
  /** Whether to note only that the value exists. */
  readonly wantsPresence: boolean;
  readonly below: ReadonlyMap<string, Interest>;
}

/** Parses paths: keys joined by dots, with `*` for each element of an array. */
export function interestIn(paths: readonly string[]): Interest {
  return interestOf(paths.map((path) => ({ path, keys: path.replace(/\?$/, "").split(".") })));
}

function interestOf(
  wanted: readonly { readonly path: string; readonly keys: readonly string[] }[],
): Interest {
  const here = wanted.filter(({ keys }) => keys.length === 0).map(({ path }) => path);
  const deeper = wanted.filter(({ keys }) => keys.length > 0);
  const byKey = Map.groupBy(deeper, ({ keys }) => keys[0] ?? "");
  const below = Array.from(byKey, ([key, those]) => {
    const rest = those.map(({ path, keys }) => ({ path, keys: keys.slice(1) }));
    return [key, interestOf(rest)] as const;
  });
  return {
    path: here[0] ?? "",
    isWanted: here.some((path) => !path.endsWith("?")),
    wantsPresence: here.some((path) => path.endsWith("?")),
    below: new Map(below),
  };
}

/** The value at a path in a record; of duplicate keys the last one, as in `JSON.parse`. */
export function pickedValue(record: PickedRecord, path: string): unknown {
  return record.values.get(path)?.at(-1)?.value;
}

export function pickedValues(record: PickedRecord, path: string): readonly unknown[] {
  return (record.values.get(path) ?? []).map(({ value }) => value);
}

/** Whether a path has a value other than null, even one that was too long to keep. */
export function isThere(record: PickedRecord, path: string): boolean {
  return (record.values.get(path) ?? []).some(({ value }) => value !== null);
}
