import { open, readFile, rename } from "node:fs/promises";
import { syncFolder } from "./exports.ts";
import { notesOf, type Places, requestOf } from "./places.ts";

/** What must be known again after a crash and stands in no message. */
export interface Notes {
  /** Where the branch started. */
  readonly base: string | null;
  /** What git was told to overlook before any agent was here. */
  readonly exclude: string | null;
  /** Agents' own names of their conversations, by story. */
  readonly conversations: Readonly<Record<string, string>>;
}

const none: Notes = { base: null, exclude: null, conversations: {} };

export async function readNotes(places: Places): Promise<Notes> {
  const text = await readIfThere(notesOf(places));
  return text === null ? none : { ...none, ...(JSON.parse(text) as Partial<Notes>) };
}

export const writeNotes = (places: Places, notes: Notes): Promise<void> =>
  replaceFile(places, notesOf(places), JSON.stringify(notes));

/** The request that was accepted in this volume, in its canonical form; null before that. */
export const readRequest = (places: Places): Promise<string | null> => readIfThere(requestOf(places));

export const writeRequest = (places: Places, request: string): Promise<void> =>
  replaceFile(places, requestOf(places), request);

/** Whole and on the disk, or as it was. Only the supervisor writes in this folder. */
async function replaceFile({ aimi }: Places, file: string, text: string): Promise<void> {
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
