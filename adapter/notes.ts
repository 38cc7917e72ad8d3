import { open, readFile, rename } from "node:fs/promises";
import { syncFolder } from "./exports.ts";
import { notesOf, requestOf, type SandboxPaths } from "./places.ts";

/** Facts that the adapter needs after a crash and that no message contains. */
export interface Notes {
  /** The commit where the task's branch started; null before the first run has prepared the workspace. */
  readonly base: string | null;
  /** The content of `.git/info/exclude` before any agent ran; null before the first run has prepared the workspace. */
  readonly exclude: string | null;
  /** The IDs that the agent gave to its conversations, by story ID. */
  readonly conversations: Readonly<Record<string, string>>;
}

const none: Notes = { base: null, exclude: null, conversations: {} };

export async function readNotes(paths: SandboxPaths): Promise<Notes> {
  const text = await readIfThere(notesOf(paths));
  return text === null ? none : { ...none, ...(JSON.parse(text) as Partial<Notes>) };
}

export const writeNotes = (paths: SandboxPaths, notes: Notes): Promise<void> =>
  replaceFile(paths, notesOf(paths), JSON.stringify(notes));

/** Reads the task request that an earlier run on this volume accepted, in canonical form; returns null if there is none. */
export const readRequest = (paths: SandboxPaths): Promise<string | null> => readIfThere(requestOf(paths));

export const writeRequest = (paths: SandboxPaths, request: string): Promise<void> =>
  replaceFile(paths, requestOf(paths), request);

/**
 * Replaces a file atomically and syncs it to disk. The draft's name is safe, since only the supervisor writes in this
 * folder.
 */
async function replaceFile({ aimi }: SandboxPaths, file: string, text: string): Promise<void> {
  const draft = `${file}.draft`;
  {
    await using handle = await open(draft, "w", 0o600);
    await handle.writeFile(text);
    await handle.sync();
  }
  await rename(draft, file);
  await syncFolder(aimi);
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
