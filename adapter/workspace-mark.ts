import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import type { Places } from "./places.ts";

/**
 * Says that the workspace is as the adapter prepared it and as the agent went on with it. The adapter removes the mark before
 * it moves the files to another commit, and sets it again afterwards: a move that a kill cut off leaves none.
 */
export interface WorkspaceMark {
  isSet(): Promise<boolean>;
  /** Moves the files. A move within a move is part of the outer one. */
  around<Result>(move: () => Promise<Result>): Promise<Result>;
}

/** The mark lies in the container's own layer, where the files are: it is lost with them, and never without them. */
export function workspaceMark(places: Pick<Places, "layer">): WorkspaceMark {
  const file = `${places.layer}/prepared`;
  let depth = 0;

  async function set(): Promise<void> {
    await mkdir(places.layer, { recursive: true, mode: 0o700 });
    await using handle = await open(`${file}.draft`, "w", 0o600);
    await handle.writeFile(await bootId());
    await rename(`${file}.draft`, file);
  }

  return {
    isSet: async () => (await readIfThere(file)) === (await bootId()),
    async around(move) {
      depth += 1;
      try {
        if (depth === 1) await rm(file, { force: true });
        const result = await move();
        if (depth === 1) await set();
        return result;
      } finally {
        depth -= 1;
      }
    },
  };
}

/** A machine that lost its power may have kept the mark and lost what was written before it. */
const bootId = async (): Promise<string> => (await readIfThere("/proc/sys/kernel/random/boot_id")) ?? "";

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}
