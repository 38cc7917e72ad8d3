import { randomBytes } from "node:crypto";
import { readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifSystemError } from "../../errors/system-errors.ts";

/** The user's state folder, which swarm uses for all projects of the user. */
export interface StateFolder {
  readonly folder: string;
  /** Whether the folder contains any file that swarm may remove. */
  exists(): Promise<boolean>;
  /** Whether the folder contains data of the user's private container engine. */
  hasEngine(): Promise<boolean>;
  /**
   * Removes the files that swarm created in the folder. Keeps the files with the machine's ID and the user's
   * ID.
   */
  remove(): Promise<void>;
}

/**
 * Matches the names of the files that swarm may delete from the user's state folder. Swarm keeps the files
 * with the machine's ID and the user's ID, because projects and sandboxes are bound to these IDs.
 */
const ours =
  /^(?:downloads|bugs|image\.lock|trust\.lock|(?:probes|trust)\.json(?:\.\d+)?|\.trust\.json\.[0-9a-f]+\.tmp)$/;
const engine = "engine";
/** Matches the temporary names of folders that swarm is deleting. */
const removing = /^removing-[0-9a-f]{12}$/;

/**
 * Gives access to the user's state folder. The user may have chosen a folder with other files, so `remove`
 * deletes only files with names that swarm uses.
 */
export function openStateFolder(folder: string): StateFolder {
  const entries = async (): Promise<string[]> =>
    (await readdir(folder).catch(() => [])).filter(
      (name) => name === engine || ours.test(name) || removing.test(name),
    );
  const hasEngine = async (): Promise<boolean> =>
    (await stat(join(folder, engine)).catch(() => null))?.isDirectory() ?? false;

  return {
    folder,
    hasEngine,
    exists: async () => (await entries()).length > 0,

    async remove() {
      // Rename the folder first, so that the engine's data disappears at once: an engine that finds half of
      // its data would fail.
      if (await hasEngine())
        await rename(join(folder, engine), join(folder, `removing-${randomBytes(6).toString("hex")}`));
      for (const name of await entries()) await rm(join(folder, name), { recursive: true, force: true });
      await rmdir(folder).catch(ifSystemError(undefined, "ENOTEMPTY", "EEXIST", "ENOENT"));
    },
  };
}
