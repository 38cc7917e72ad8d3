import { createHash } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { createIsolatedRepo, type IsolatedRepository } from "./clean-room.ts";
import { createProcessFolder } from "./own-folder.ts";

/** A new folder that only this user can enter. Disposing removes the folder. */
export interface Quarantine extends AsyncDisposable {
  readonly folder: string;
  /**
   * Creates an isolated repository through which git reads objects. With `own`, git writes new objects into
   * the isolated repository; with `theirs`, into the user's repository.
   */
  openRepo(newObjects: "own" | "theirs"): Promise<IsolatedRepository>;
}

/**
 * Opens a quarantine on the filesystem of the repository's objects, so that a rename can move checked objects
 * into the repository.
 */
export async function openQuarantine(commonFolder: string, signal?: AbortSignal): Promise<Quarantine> {
  const parent = join(commonFolder, "aimi", "quarantine");
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const undo = new AsyncDisposableStack();
  const { folder } = undo.use(await createProcessFolder(parent));
  return {
    folder,
    async openRepo(newObjects) {
      const repo = await createIsolatedRepo(join(folder, newObjects), { commonFolder, newObjects }, signal);
      undo.use(repo.objects);
      return repo;
    },
    [Symbol.asyncDispose]: () => undo.disposeAsync(),
  };
}

/**
 * Writes a stream to a new file and checks its size and checksum. Does not throw if the size or the checksum
 * is wrong, but returns which of them.
 */
export async function storeStream(
  file: string,
  bytes: AsyncIterable<Uint8Array>,
  { maxBytes, sha256 }: { readonly maxBytes: number; readonly sha256: string },
): Promise<"stored" | "too-large" | "checksum"> {
  const hash = createHash("sha256");
  await using handle = await open(file, "wx", 0o600);
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > maxBytes) return "too-large";
    hash.update(chunk);
    await handle.writeFile(chunk).catch((error: NodeJS.ErrnoException) => {
      throw new SwarmError("FILE_FAILED", { file, reason: error.message }, error);
    });
  }
  return hash.digest("hex") === sha256.toLowerCase() ? "stored" : "checksum";
}
