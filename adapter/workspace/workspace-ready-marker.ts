import { mkdir, readFile, rm } from "node:fs/promises";
import { writeFileDurably } from "../../src/machine/durable-write.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";

/**
 * A marker file that exists only while the workspace is fully prepared. The adapter removes it before it
 * checks out a commit and creates it again afterwards, so it is missing if a checkout was killed.
 */
export interface WorkspaceReadyMarker {
  isSet(): Promise<boolean>;
  /**
   * Removes the marker file, runs the checkout `move`, and creates the file again. In a nested call, only the
   * outer call removes and creates the file.
   */
  whileUnmarked(move: () => Promise<void>): Promise<void>;
}

/**
 * Returns a marker whose file is in the container's writable layer. The workspace is in that layer, too, so
 * both are lost together.
 */
export function createWorkspaceReadyMarker(paths: Pick<SandboxPaths, "layer">): WorkspaceReadyMarker {
  const file = `${paths.layer}/prepared`;
  let depth = 0;

  async function set(): Promise<void> {
    await mkdir(paths.layer, { recursive: true, mode: 0o700 });
    await writeFileDurably(file, await bootId(), { mode: 0o600, sync: false });
  }

  return {
    isSet: async () => (await readIfThere(file)) === (await bootId()),
    async whileUnmarked(move) {
      depth += 1;
      try {
        if (depth === 1) await rm(file, { force: true });
        await move();
        if (depth === 1) await set();
      } finally {
        depth -= 1;
      }
    },
  };
}

/**
 * Returns the machine's boot ID, which is the content of the marker file. A marker from an earlier boot is
 * invalid: a power failure may have lost files of the workspace, but not the marker.
 */
const bootId = async (): Promise<string> => (await readIfThere("/proc/sys/kernel/random/boot_id")) ?? "";

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}
