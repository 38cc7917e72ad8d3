import { refuseInvalidImage } from "../require-safe-names.ts";

/** Splits the image reference `name:tag` into the name, which may contain a registry's port, and the tag. */
export function splitImageTag(reference: string): [repository: string, tag: string] {
  refuseInvalidImage(reference);
  const colon = reference.lastIndexOf(":");
  return colon > reference.lastIndexOf("/")
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, "latest"];
}
