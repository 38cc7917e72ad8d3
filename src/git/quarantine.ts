import { createHash } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { createProcessFolder } from "../machine/process-folder.ts";
import { createIsolatedRepo, type IsolatedRepository } from "./isolated-repository.ts";

/**
 * A new folder for data that swarm has not checked yet, which only this user can enter. Disposing removes the
 * folder.
 */
interface Quarantine extends AsyncDisposable {
  readonly folder: string;
  /**
   * Creates an isolated repository in this folder for git's access to the user's repository. With `own`, git
   * writes new objects into the isolated repository; with `theirs`, into the user's repository.
   */
  openRepo(newObjects: "own" | "theirs"): Promise<IsolatedRepository>;
}

/**
 * Creates a quarantine folder on the filesystem of the user's repository, so that a rename can move checked
 * objects into the repository.
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
 * Writes a stream of at most `maxBytes` to a new file and checks its SHA-256. Returns `too-large` or
 * `checksum` instead of throwing if the stream is not as expected.
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
