import { refuseImage } from "./refuse-name.ts";

/** Splits `name:tag` into the name, which may contain a port, and the tag. */
export function splitTag(reference: string): [repository: string, tag: string] {
  refuseImage(reference);
  const colon = reference.lastIndexOf(":");
  return colon > reference.lastIndexOf("/")
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, "latest"];
}
