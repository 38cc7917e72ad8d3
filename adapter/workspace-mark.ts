import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import type { SandboxPaths } from "./places.ts";

/**
 * A file that marks a workspace as completely prepared: since then, only the agent has changed it. The adapter
 * removes the mark before it checks out another commit and sets it again afterwards, so that a killed checkout leaves
 * no mark.
 */
export interface WorkspaceReadyMarker {
  isSet(): Promise<boolean>;
  /** Runs the checkout `move` and removes the mark meanwhile. A nested checkout is part of the outer one. */
  whileUnmarked<Result>(move: () => Promise<Result>): Promise<Result>;
}

/** Stores the mark in the container's own layer, like the workspace, so that both are lost together. */
export function createWorkspaceReadyMarker(paths: Pick<SandboxPaths, "layer">): WorkspaceReadyMarker {
  const file = `${paths.layer}/prepared`;
  let depth = 0;

  async function set(): Promise<void> {
    await mkdir(paths.layer, { recursive: true, mode: 0o700 });
    await using handle = await open(`${file}.draft`, "w", 0o600);
    await handle.writeFile(await bootId());
    await rename(`${file}.draft`, file);
  }

  return {
    isSet: async () => (await readIfThere(file)) === (await bootId()),
    async whileUnmarked(move) {
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

/**
 * Returns the machine's boot ID, which is the mark's content. A mark from before a reboot is void: after a power
 * failure, the mark may exist although files of the workspace are lost.
 */
const bootId = async (): Promise<string> => (await readIfThere("/proc/sys/kernel/random/boot_id")) ?? "";

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}
