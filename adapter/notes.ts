import { open, readFile, rename } from "node:fs/promises";
import { syncFolderToDisk } from "./exports.ts";
import { acceptedRequestPath, recoveryNotesPath, type SandboxPaths } from "./places.ts";

/** Facts that the adapter needs after a crash and that no message contains. */
export interface RecoveryNotes {
  /** The commit where the task's branch started; null before the first run has prepared the workspace. */
  readonly base: string | null;
  /** The content of `.git/info/exclude` before any agent ran; null before the first run has prepared the workspace. */
  readonly exclude: string | null;
  /** The IDs of the agent's conversations, by story ID. */
  readonly conversations: Readonly<Record<string, string>>;
}

const none: RecoveryNotes = { base: null, exclude: null, conversations: {} };

export async function readRecoveryNotes(paths: SandboxPaths): Promise<RecoveryNotes> {
  const text = await readIfThere(recoveryNotesPath(paths));
  return text === null ? none : { ...none, ...(JSON.parse(text) as Partial<RecoveryNotes>) };
}

export const writeRecoveryNotes = (paths: SandboxPaths, notes: RecoveryNotes): Promise<void> =>
  replaceFile(paths, recoveryNotesPath(paths), JSON.stringify(notes));

/** Reads the task request that an earlier run on this volume accepted, in canonical form; returns null if there is none. */
export const readAcceptedRequest = (paths: SandboxPaths): Promise<string | null> =>
  readIfThere(acceptedRequestPath(paths));

export const writeAcceptedRequest = (paths: SandboxPaths, request: string): Promise<void> =>
  replaceFile(paths, acceptedRequestPath(paths), request);

/**
 * Replaces a file atomically and syncs it to disk. The temporary file's name can be fixed, since only the
 * supervisor writes in this folder.
 */
async function replaceFile({ aimi }: SandboxPaths, file: string, text: string): Promise<void> {
  const draft = `${file}.draft`;
  {
    await using handle = await open(draft, "w", 0o600);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(draft, file);
  await syncFolderToDisk(aimi);
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
