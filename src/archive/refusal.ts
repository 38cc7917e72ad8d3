import { SwarmError } from "../domain/errors.ts";

const maxEntryLength = 200;

/** The error for a refused archive. It cuts the entry's name, which comes from a container and may have any length. */
export function refusal(entry: string, reason: string, cause?: unknown): SwarmError<"ARCHIVE_REFUSED"> {
  const shown = entry.slice(0, maxEntryLength).toWellFormed();
  return new SwarmError("ARCHIVE_REFUSED", { entry: shown, reason }, cause);
}
