import { open } from "node:fs/promises";

/** Makes the entries of a folder, such as a renamed file, survive a power failure. */
export async function syncFolderToDisk(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}
