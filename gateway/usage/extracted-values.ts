/** A value that the parser found at a wanted path of a JSON text. */
export interface ExtractedJsonValue {
  /**
   * The parsed value. Undefined if the value is too long or invalid, or if the path ends in `?` and so asks
   * only whether a value exists.
   */
  readonly value: unknown;
  /** The offset of the value's first byte in the JSON text. */
  readonly start: number;
  readonly end: number;
}

/**
 * The values found in one object, by wanted path. The object is a whole JSON text or an element of a
 * top-level array.
 */
export interface ExtractedJsonRecord {
  readonly start: number;
  readonly values: ReadonlyMap<string, readonly ExtractedJsonValue[]>;
  /** Whether values are missing because they would exceed the memory limit. */
  readonly isCut: boolean;
}

/** A node in the tree of wanted paths. It says what to extract at one JSON key and below that key. */
export interface WantedPathTree {
  readonly path: string;
  /** Whether to extract the value at this JSON key. */
  readonly isWanted: boolean;
  /** Whether to record only that a value exists at this JSON key. */
  readonly wantsPresence: boolean;
  readonly below: ReadonlyMap<string, WantedPathTree>;
}

/**
 * Builds the tree of wanted paths. A path is a list of JSON keys joined by dots, with `*` for every element
 * of an array; a `?` at its end asks only whether a value exists.
 */
export function buildWantedPathTree(paths: readonly string[]): WantedPathTree {
  return interestOf(paths.map((path) => ({ path, keys: path.replace(/\?$/, "").split(".") })));
}

function interestOf(
  wanted: readonly { readonly path: string; readonly keys: readonly string[] }[],
): WantedPathTree {
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

/**
 * Returns the value at a path of a record. If a JSON key occurs twice, returns the last value, as
 * `JSON.parse` does.
 */
export function findExtractedValue(record: ExtractedJsonRecord, path: string): unknown {
  return findExtractedValues(record, path).at(-1);
}

export function findExtractedValues(
  { values }: ExtractedJsonRecord,
  ...paths: readonly string[]
): readonly unknown[] {
  return paths.flatMap((path) => values.get(path) ?? []).map(({ value }) => value);
}

/**
 * Whether a record has a value other than null at one of the given paths. Includes a value that was too long
 * to extract.
 */
export function hasExtractedValue(record: ExtractedJsonRecord, ...paths: readonly string[]): boolean {
  return findExtractedValues(record, ...paths).some((value) => value !== null);
}
