import { randomBytes } from "node:crypto";
import { readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { StateFolder } from "../ports/leftovers.ts";

/** All that the program writes there, but for what tells this machine and user from others: projects and sandboxes are bound to it. */
const ours = /^(?:downloads|bugs|image\.lock|trust\.lock|(?:probes|trust)\.json(?:\.\d+)?)$/;
const engine = "engine";
/** What is being removed, under a name that nobody uses. */
const removing = /^removing-[0-9a-f]{12}$/;

/** The state folder of a user. It may be anywhere that they said, so nothing is removed there that is not ours by its name. */
export function stateFolder(folder: string): StateFolder {
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
      // Whole or not at all: an engine that finds half of its data would break upon them.
      if (await hasEngine())
        await rename(join(folder, engine), join(folder, `removing-${randomBytes(6).toString("hex")}`));
      for (const name of await entries()) await rm(join(folder, name), { recursive: true, force: true });
      await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
      });
    },
  };
}
