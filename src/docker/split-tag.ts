import { refuseImage } from "./refuse-name.ts";

/** Splits `name:tag`, where the name may contain a port. */
export function splitTag(reference: string): [repository: string, tag: string] {
  refuseImage(reference);
  const colon = reference.lastIndexOf(":");
  return colon > reference.lastIndexOf("/")
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, "latest"];
}
