import { join } from "node:path";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import type { Lock } from "../../../src/machine/locks/lock.ts";
import { portableLock } from "../../../src/machine/locks/portable-lock.ts";
import { fencedLock } from "../../../src/state/fenced-lock.ts";
import {
  type OwnerStateDeps,
  type OwnerStateWriter,
  openOwnerState,
} from "../../../src/state/owner-state.ts";
import { type StateFile, stateFile } from "../../../src/state/state-file.ts";
import type { StateStore } from "../../../src/state/state-store.ts";
import { stateStore } from "../../../src/state/state-store.ts";

export type LockKind = "kernel" | "portable";

/** The real state of a folder, as the product composes it. */
export function stateAt(
  folder: string,
  {
    lockKind = "kernel",
    gitFolder = join(folder, "git"),
    ...waits
  }: { lockKind?: LockKind; staleMs?: number; waitMs?: number; gitFolder?: string } = {},
): {
  store: StateStore;
  file: StateFile;
  lock: Lock;
  bareLock: Lock;
  owner: (change?: Partial<OwnerStateDeps>) => OwnerStateWriter;
} {
  const path = join(gitFolder, "state.lock");
  const bare =
    lockKind === "kernel" ? kernelLock(path, "swarm test") : portableLock(path, "swarm test", waits);
  const places = {
    stateFile: join(folder, ".aimi", "swarm-state.json"),
    copyFile: join(gitFolder, "swarm-state.json"),
    archiveFolder: join(folder, ".aimi", "swarms"),
  };
  const file = stateFile(places);
  const fenced = fencedLock(bare, file);
  const lock = lockKind === "portable" ? fenced : bare;
  const clock = (): Date => new Date();
  return {
    file,
    lock,
    bareLock: bare,
    store: stateStore({ file, lock: fenced, clock, ...waits }),
    owner: (change = {}) => openOwnerState({ file: stateFile(places), lock, clock, ...change }),
  };
}
