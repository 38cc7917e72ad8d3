import { readFile } from "node:fs/promises";
import { ifMissing } from "../../src/errors/system-errors.ts";
import { writeFileDurably } from "../../src/machine/durable-write.ts";
import { acceptedTaskRequestPath, recoveryNotesPath, type SandboxPaths } from "../machine/sandbox-paths.ts";

/** What the adapter stores for its recovery after a crash, because no journalled message contains it. */
export interface RecoveryNotes {
  /**
   * The commit from which the task's branch started; null until the adapter has prepared the workspace for
   * the first time.
   */
  readonly base: string | null;
  /**
   * The content of `.git/info/exclude` before any agent ran; null until the adapter has prepared the
   * workspace for the first time.
   */
  readonly exclude: string | null;
  /** The IDs of the agent's conversations, each by the ID of its story. */
  readonly conversations: Readonly<Record<string, string>>;
}

const none: RecoveryNotes = { base: null, exclude: null, conversations: {} };

export async function readRecoveryNotes(paths: SandboxPaths): Promise<RecoveryNotes> {
  const text = await readIfThere(recoveryNotesPath(paths));
  return text === null ? none : { ...none, ...(JSON.parse(text) as Partial<RecoveryNotes>) };
}

export const writeRecoveryNotes = (paths: SandboxPaths, notes: RecoveryNotes): Promise<void> =>
  replaceFile(recoveryNotesPath(paths), JSON.stringify(notes));

/**
 * Reads the task request that an earlier adapter process on this volume accepted, in canonical form. Returns
 * null if there is none.
 */
export const readAcceptedTaskRequest = (paths: SandboxPaths): Promise<string | null> =>
  readIfThere(acceptedTaskRequestPath(paths));

export const writeAcceptedTaskRequest = (paths: SandboxPaths, request: string): Promise<void> =>
  replaceFile(acceptedTaskRequestPath(paths), request);

async function replaceFile(file: string, text: string): Promise<void> {
  await writeFileDurably(file, text, { mode: 0o600 });
}

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(ifMissing(null));
}
