import { randomBytes } from "node:crypto";
import { copyFile, open, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing, ifSystemError, isSystemError } from "../errors/system-errors.ts";
import { syncFolder } from "../machine/durable-write.ts";

const ownMark = "taken in by aimi-swarm\n";

/**
 * Moves a git pack that swarm has checked into a repository by renaming its files; `git fetch` would parse
 * the pack again, with weaker checks. A `.keep` file protects the objects from garbage collection until the
 * caller disposes the result; by then, a ref must contain the objects.
 */
export async function installPack(
  hash: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<AsyncDisposable> {
  const name = (ending: string): string => `pack-${hash}.${ending}`;
  const keep = join(to, name("keep"));
  await writeFile(keep, ownMark, { flag: "wx", mode: 0o444 }).catch(ifSystemError(undefined, "EEXIST"));
  // Move the index last, because it makes the pack visible to git.
  for (const ending of ["pack", "rev", "idx"]) await moveIn(join(from, name(ending)), join(to, name(ending)));
  // The pack may have been in the repository already, old and unreferenced. A new modification time protects
  // it from pruning.
  const now = new Date();
  await utimes(join(to, name("pack")), now, now);
  await syncFolder(to);
  return {
    async [Symbol.asyncDispose]() {
      const mark = await readFile(keep, "utf8").catch(() => "");
      if (mark === ownMark) await rm(keep, { force: true });
    },
  };
}

/**
 * Moves one file of a pack, unless a file of this name exists. An existing file is equal, because the name
 * contains the hash of the pack's content.
 */
async function moveIn(from: string, to: string): Promise<void> {
  if ((await exists(to)) || !(await exists(from))) return;
  try {
    await rename(from, to);
  } catch (error) {
    if (!isSystemError(error, "EXDEV")) throw error;
    await copyIn(from, to);
  }
}

/**
 * Copies one file of a pack to the repository's filesystem. The temporary name `tmp_pack_…` lets git's own
 * cleanup remove the copy after a crash.
 */
async function copyIn(from: string, to: string): Promise<void> {
  const temporary = join(to, "..", `tmp_pack_${randomBytes(9).toString("hex")}`);
  await copyFile(from, temporary);
  {
    await using handle = await open(temporary, "r");
    await handle.sync();
  }
  await rename(temporary, to);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, ifMissing(false));
}
