import { createHash } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { type CleanRoom, makeCleanRoom } from "./clean-room.ts";
import { makeOwnFolder } from "./own-folder.ts";

/** A fresh folder that only we can enter, gone in the end. */
export interface Quarantine extends AsyncDisposable {
  readonly folder: string;
  /** Where to look at objects. `own`: what is made in there stays in there. */
  room(newObjects: "own" | "theirs"): Promise<CleanRoom>;
}

/** It lies on the disk of the repository's objects, so that what was checked can be moved there. */
export async function openQuarantine(commonFolder: string, signal?: AbortSignal): Promise<Quarantine> {
  const parent = join(commonFolder, "aimi", "quarantine");
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const undo = new AsyncDisposableStack();
  const { folder } = undo.use(await makeOwnFolder(parent));
  return {
    folder,
    async room(newObjects) {
      const room = await makeCleanRoom(join(folder, newObjects), { commonFolder, newObjects }, signal);
      undo.use(room.objects);
      return room;
    },
    [Symbol.asyncDispose]: () => undo.disposeAsync(),
  };
}

/** Writes a stream to a new file, no further than it may go. What is wrong with its bytes is an answer. */
export async function storeStream(
  file: string,
  bytes: AsyncIterable<Uint8Array>,
  { mostBytes, sha256 }: { readonly mostBytes: number; readonly sha256: string },
): Promise<"stored" | "too-large" | "checksum"> {
  const hash = createHash("sha256");
  await using handle = await open(file, "wx", 0o600);
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > mostBytes) return "too-large";
    hash.update(chunk);
    await handle.writeFile(chunk).catch((error: NodeJS.ErrnoException) => {
      throw new SwarmError("FILE_FAILED", { file, reason: error.message }, error);
    });
  }
  return hash.digest("hex") === sha256.toLowerCase() ? "stored" : "checksum";
}
