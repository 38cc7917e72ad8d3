import { SwarmError } from "../../errors/errors.ts";
import { isImageReference } from "../rules/image-reference.ts";
import { isContainerName } from "../rules/is-container-name.ts";

/**
 * Throws if a name does not have the form of the names that swarm gives to its containers, volumes and
 * networks.
 */
export function requireSwarmName(name: string): void {
  if (!isContainerName(name))
    refuse(
      `The name ${quoted(name)}`,
      "a name must be aimi- followed by [a-z0-9-], and may end with a dot and 1 to 10 characters from [a-z0-9]",
    );
}

/**
 * Throws if no container engine would assign this ID or name. In a request's URL, such a text could change
 * the path.
 */
export function refuseInvalidEngineIdOrName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/.test(name))
    refuse(
      `The id ${quoted(name)}`,
      "an id or a name may contain only letters, digits, _, . and -, and must begin with a letter or a digit",
    );
}

export function refuseInvalidImage(reference: string): void {
  if (!isImageReference(reference))
    refuse(
      `The image ${quoted(reference)}`,
      "an image reference looks like debian:12-slim or ghcr.io/owner/image@sha256:…",
    );
}

/** Throws SPEC_REFUSED. */
export function refuse(field: string, reason: string): never {
  throw new SwarmError("SPEC_REFUSED", { field, reason });
}

function quoted(name: string): string {
  return JSON.stringify(name).slice(0, 200);
}
