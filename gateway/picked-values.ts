/** One value that was looked for. */
export interface Picked {
  /** `undefined` when it was too long to be kept, or was asked for with `?` only. */
  readonly value: unknown;
  /** Where it stands among all bytes so far. */
  readonly start: number;
  readonly end: number;
}

/** An object at the top of the text, or in the array there: what was looked for in it, by path. */
export interface PickedRecord {
  readonly start: number;
  readonly values: ReadonlyMap<string, readonly Picked[]>;
  /** Whether there was more to be kept than there is room for: what is missing may be anything. */
  readonly isCut: boolean;
}

/** What to look for below a key. */
export interface Interest {
  readonly path: string;
  /** Its value is kept. */
  readonly isWanted: boolean;
  /** Only that there is one is noted. */
  readonly isAskedFor: boolean;
  readonly below: ReadonlyMap<string, Interest>;
}

/** Paths are keys with dots between, `*` for each element of an array. */
export function interestIn(paths: readonly string[]): Interest {
  return interestOf(paths.map((path) => ({ path, keys: path.replace(/\?$/, "").split(".") })));
}

function interestOf(asked: readonly { readonly path: string; readonly keys: readonly string[] }[]): Interest {
  const here = asked.filter(({ keys }) => keys.length === 0).map(({ path }) => path);
  const deeper = asked.filter(({ keys }) => keys.length > 0);
  const byKey = Map.groupBy(deeper, ({ keys }) => keys[0] ?? "");
  const below = Array.from(byKey, ([key, those]) => {
    const rest = those.map(({ path, keys }) => ({ path, keys: keys.slice(1) }));
    return [key, interestOf(rest)] as const;
  });
  return {
    path: here[0] ?? "",
    isWanted: here.some((path) => !path.endsWith("?")),
    isAskedFor: here.some((path) => path.endsWith("?")),
    below: new Map(below),
  };
}

/** The value at a path in a record: the last one, as everywhere in JSON. */
export function pickedValue(record: PickedRecord, path: string): unknown {
  return record.values.get(path)?.at(-1)?.value;
}

export function pickedValues(record: PickedRecord, path: string): readonly unknown[] {
  return (record.values.get(path) ?? []).map(({ value }) => value);
}

/** Whether there is something other than null at a path, readable or not. */
export function isThere(record: PickedRecord, path: string): boolean {
  return (record.values.get(path) ?? []).some(({ value }) => value !== null);
}
