import type { BigIntStats } from "node:fs";
import { SwarmError } from "../errors/errors.ts";
import {
  type DurableWriteOptions,
  removeTemporaryFiles,
  writeFileDurably,
} from "../machine/durable-write.ts";

/**
 * Replaces a file of the state atomically. If the write fails, throws STATE_WRITE_FAILED, which says whether
 * the file has its old or its new content.
 */
export async function writeStateDurably(
  file: string,
  content: string | Uint8Array,
  options: Omit<DurableWriteOptions, "afterRename"> = {},
): Promise<BigIntStats> {
  let holds: "old" | "new" = "old";
  const afterRename = (): void => {
    holds = "new";
  };
  try {
    return await writeFileDurably(file, content, { ...options, afterRename });
  } catch (error) {
    throw writeFailed(file, error, holds);
  }
}

/** Removes the temporary files of killed or suspended writers of a file of the state. */
export async function removeUnfinishedWrites(file: string, confirm: () => Promise<void>): Promise<void> {
  await removeTemporaryFiles(file, confirm).catch((error: unknown) => {
    throw writeFailed(file, error, "old");
  });
}

function writeFailed(file: string, error: unknown, holds: "old" | "new"): SwarmError {
  if (error instanceof SwarmError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code ? `${code} ${message.replace(`${code}: `, "")}` : String(message);
  return new SwarmError("STATE_WRITE_FAILED", { file, reason, holds }, error);
}
