import { mkdir, readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { ifMissing, isSystemError } from "../errors/system-errors.ts";
import { writeFileDurably } from "../machine/durable-write.ts";
import { type Lock, lockTimeoutMs } from "../machine/locks/lock.ts";
import { once } from "../text/once.ts";

/** The content of a file, with its paths and its checksum. */
export interface FileContent {
  /** The path of the file, as messages show it to the user. */
  readonly path: string;
  /** The file's path with symbolic links resolved. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/**
 * The list of files that this user has trusted. A file that has since been moved or changed is not trusted.
 */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}

type TrustedShaByPath = Record<string, string>;

/** Stores which files this user trusts, in the user's state folder. No repository can contain this list. */
export function openTrustFile(stateFolder: string, lock: Lock): TrustFile {
  const file = join(stateFolder, "trust.json");

  const read = async (): Promise<TrustedShaByPath> => {
    try {
      const { files } = JSON.parse(await readFile(file, "utf8"));
      return typeof files === "object" && files !== null ? { ...files } : {};
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return {};
      throw new SwarmError("FILE_FAILED", { file, reason: (error as Error).message }, error);
    }
  };

  const write = async (files: TrustedShaByPath): Promise<void> => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Writes through a link, such as one into a folder of settings that the user shares between machines.
    await writeFileDurably(
      await realpath(file).catch(ifMissing(file)),
      `${JSON.stringify({ version: 1, files }, null, 2)}\n`,
      {
        mode: 0o600,
        keepAttributes: "owner",
      },
    );
  };

  // A command asks about several files, and decides by the list as it was at the first question. If the list
  // cannot be read, trusts nothing.
  const readForQuestions = () => once(() => read().catch((): TrustedShaByPath => ({})));
  let known = readForQuestions();

  return {
    isTrusted: async (realPath, sha256) => (await known())[realPath] === sha256,

    async trust(files) {
      await using held = await lock.acquire(lockTimeoutMs);
      const trusted = await read();
      for (const { realPath, sha256 } of files) trusted[realPath] = sha256;
      await held.confirm();
      await write(trusted);
      known = readForQuestions();
    },
  };
}
