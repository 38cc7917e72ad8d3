import { open, readFile, rename } from "node:fs/promises";
import { syncFolder } from "./exports.ts";
import { notesOf, requestOf, type SandboxPaths } from "./places.ts";

/** Facts that the adapter needs after a crash and that no message contains. */
export interface Notes {
  /** The commit where the branch started. */
  readonly base: string | null;
  /** The content of `.git/info/exclude` before any agent ran. */
  readonly exclude: string | null;
  /** The agents' IDs of their conversations, by story. */
  readonly conversations: Readonly<Record<string, string>>;
}

const none: Notes = { base: null, exclude: null, conversations: {} };

export async function readNotes(paths: SandboxPaths): Promise<Notes> {
  const text = await readIfThere(notesOf(paths));
  return text === null ? none : { ...none, ...(JSON.parse(text) as Partial<Notes>) };
}

export const writeNotes = (paths: SandboxPaths, notes: Notes): Promise<void> =>
  replaceFile(paths, notesOf(paths), JSON.stringify(notes));

/** Reads the request that this volume has accepted, in canonical form; null before that. */
export const readRequest = (paths: SandboxPaths): Promise<string | null> => readIfThere(requestOf(paths));

export const writeRequest = (paths: SandboxPaths, request: string): Promise<void> =>
  replaceFile(paths, requestOf(paths), request);

/** Replaces a file atomically and syncs it to disk. Only the supervisor writes in this folder. */
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
