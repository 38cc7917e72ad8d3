import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { SwarmError } from "../errors/errors.ts";
import { type Lock, lockTimeoutMs } from "../machine/lock.ts";
import type { TrustFile } from "./trusted-files.ts";

type TrustedShaByPath = Record<string, string>;

/** Stores which files this user trusts, in the user's state folder. No repository can contain this list. */
export function openTrustFile(stateFolder: string, lock: Lock): TrustFile {
  const file = join(stateFolder, "trust.json");

  const read = async (): Promise<TrustedShaByPath> => {
    try {
      const { files } = JSON.parse(await readFile(file, "utf8"));
      return typeof files === "object" && files !== null ? { ...files } : {};
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new SwarmError("FILE_FAILED", { file, reason: (error as Error).message }, error);
    }
  };

  const write = async (files: TrustedShaByPath): Promise<void> => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFileAtomic(file, `${JSON.stringify({ version: 1, files }, null, 2)}\n`, { mode: 0o600 });
  };

  return {
    async isTrusted(realPath, sha256) {
      // If the list cannot be read, trust nothing.
      return (await read().catch((): TrustedShaByPath => ({})))[realPath] === sha256;
    },

    async trust(files) {
      await using held = await lock.acquire(lockTimeoutMs);
      const known = await read();
      for (const { realPath, sha256 } of files) known[realPath] = sha256;
      await held.confirm();
      await write(known);
    },
  };
}
