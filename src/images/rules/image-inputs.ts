import { parseJsonOrNull } from "../../text/parse-json-or-null.ts";

/**
 * The inputs from which swarm builds an image, such as files and versions. Each input's name is mapped to a
 * checksum or an ID.
 */
export type ImageInputs = Readonly<Record<string, string>>;

export interface ImageInputChange {
  readonly input: string;
  readonly kind: "added" | "removed" | "changed";
}

/** Returns one checksum over all inputs of an image. The order of the inputs does not affect the checksum. */
export function checksumOfInputs(inputs: ImageInputs, sha256: (text: string) => string): string {
  return sha256(JSON.stringify(sorted(inputs))).slice(0, 16);
}

/** Formats the inputs of an image as a text, which swarm stores in a label of the image. */
export function formatInputsLabel(inputs: ImageInputs): string {
  return JSON.stringify(Object.fromEntries(sorted(inputs)));
}

/**
 * Parses the inputs of an image from the image's label. Returns null if the label is missing or malformed.
 */
export function parseInputsLabel(label: string | undefined): ImageInputs | null {
  const inputs = parseJsonOrNull(label ?? "");
  if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs)) return null;
  return Object.values(inputs).every((value) => typeof value === "string") ? (inputs as ImageInputs) : null;
}

/** Returns the inputs in which two builds of an image differ. */
export function findInputChanges(before: ImageInputs, after: ImageInputs): ImageInputChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((input): ImageInputChange[] => {
    // The operator `in` would also find inherited names such as `constructor`, which are no inputs.
    if (!Object.hasOwn(before, input)) return [{ input, kind: "added" }];
    if (!Object.hasOwn(after, input)) return [{ input, kind: "removed" }];
    return before[input] === after[input] ? [] : [{ input, kind: "changed" }];
  });
}

function sorted(inputs: ImageInputs): [string, string][] {
  return Object.entries(inputs).sort(([a], [b]) => (a < b ? -1 : 1));
}
