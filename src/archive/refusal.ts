import { SwarmError } from "../domain/errors.ts";

const longestEntry = 200;

/** The error for an archive that is not taken. A name comes from a container and may be of any length, so it is cut. */
export function refusal(entry: string, reason: string, cause?: unknown): SwarmError<"ARCHIVE_REFUSED"> {
  const shown = entry.slice(0, longestEntry).toWellFormed();
  return new SwarmError("ARCHIVE_REFUSED", { entry: shown, reason }, cause);
}
