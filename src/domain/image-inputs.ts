/** The inputs of an image by name, each with a checksum or an id. */
export type ImageInputs = Readonly<Record<string, string>>;

export interface InputChange {
  readonly input: string;
  readonly kind: "added" | "removed" | "changed";
}

/** One checksum over all inputs, whatever their order. */
export function checksumOf(inputs: ImageInputs, sha256: (text: string) => string): string {
  return sha256(JSON.stringify(sorted(inputs))).slice(0, 16);
}

/** The text of a label that holds the inputs. */
export function showInputs(inputs: ImageInputs): string {
  return JSON.stringify(Object.fromEntries(sorted(inputs)));
}

/** The inputs in a label; null if it is missing or has another form. */
export function readInputs(label: string | undefined): ImageInputs | null {
  try {
    const inputs: unknown = JSON.parse(label ?? "null");
    if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs)) return null;
    return Object.values(inputs).every((value) => typeof value === "string") ? (inputs as ImageInputs) : null;
  } catch {
    return null;
  }
}

/** The inputs in which two images differ. */
export function findInputChanges(before: ImageInputs, after: ImageInputs): InputChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((input): InputChange[] => {
    // `in` would find inherited names such as `constructor`, which is no input.
    if (!Object.hasOwn(before, input)) return [{ input, kind: "added" }];
    if (!Object.hasOwn(after, input)) return [{ input, kind: "removed" }];
    return before[input] === after[input] ? [] : [{ input, kind: "changed" }];
  });
}

function sorted(inputs: ImageInputs): [string, string][] {
  return Object.entries(inputs).sort(([a], [b]) => (a < b ? -1 : 1));
}
