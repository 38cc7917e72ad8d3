import { SwarmError } from "../errors/errors.ts";

const maxEntryLength = 200;

/**
 * Creates the error ARCHIVE_REFUSED. Shortens the entry's name, which comes from a container and may have any
 * length.
 */
export function archiveRefusedError(
  entry: string,
  reason: string,
  cause?: unknown,
): SwarmError<"ARCHIVE_REFUSED"> {
  const shown = entry.slice(0, maxEntryLength).toWellFormed();
  return new SwarmError("ARCHIVE_REFUSED", { entry: shown, reason }, cause);
}
