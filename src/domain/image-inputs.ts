/** Everything that goes into an image, each thing with a checksum or id of its own. */
export type ImageInputs = Readonly<Record<string, string>>;

export interface InputChange {
  readonly input: string;
  readonly kind: "added" | "removed" | "changed";
}

/** One checksum over all inputs, whatever their order. */
export function checksumOf(inputs: ImageInputs, sha256: (text: string) => string): string {
  return sha256(JSON.stringify(sorted(inputs))).slice(0, 16);
}

/** The inputs as a label holds them. */
export function showInputs(inputs: ImageInputs): string {
  return JSON.stringify(Object.fromEntries(sorted(inputs)));
}

/** What a label says; none where it says nothing that we understand. */
export function readInputs(label: string | undefined): ImageInputs | null {
  try {
    const inputs: unknown = JSON.parse(label ?? "null");
    if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs)) return null;
    return Object.values(inputs).every((value) => typeof value === "string") ? (inputs as ImageInputs) : null;
  } catch {
    return null;
  }
}

/** Which inputs make the difference between two images. */
export function findInputChanges(before: ImageInputs, after: ImageInputs): InputChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((input): InputChange[] => {
    // Every object has a `constructor`; an input of that name is another thing.
    if (!Object.hasOwn(before, input)) return [{ input, kind: "added" }];
    if (!Object.hasOwn(after, input)) return [{ input, kind: "removed" }];
    return before[input] === after[input] ? [] : [{ input, kind: "changed" }];
  });
}

function sorted(inputs: ImageInputs): [string, string][] {
  return Object.entries(inputs).sort(([a], [b]) => (a < b ? -1 : 1));
}
