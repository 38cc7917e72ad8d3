import { appendFileSync, existsSync } from "node:fs";
import type { Lock } from "../../../src/machine/locks/lock.ts";
import {
  requireRecord,
  type SwarmState,
  stateWithReplacedRecord,
} from "../../../src/state/rules/swarm-state.ts";
import { stateStore } from "../../../src/state/state-store.ts";
import { count as counts } from "../../counts.ts";
import { worker } from "./records.ts";
import { type LockKind, stateAt } from "./state-at.ts";

/**
 * node update-process.ts <folder> <how> <slot> <count> [gate] [where]: counts the `lastSeq` of one container up, one update
 * each, and appends each acknowledged number to `<folder>/acknowledged` before the next. `how` is a lock, or one of the
 * controls. With a gate it stays in each update until that file exists: `inside`, after reading; or between the last look at
 * the lock and the rename of the `copy` or of the `file`.
 */
const [folder = "", how = "kernel", slot = "1", count = "1", gate, where = "inside"] = process.argv.slice(2);
const locks: Readonly<Record<string, { lockKind: LockKind; staleMs?: number }>> = {
  kernel: { lockKind: "kernel" },
  portable: { lockKind: "portable", staleMs: counts.staleMs },
  "portable owner": { lockKind: "portable", staleMs: counts.staleMs },
  unfenced: { lockKind: "portable", staleMs: counts.staleMs },
};
const { file, lock, bareLock, owner } = stateAt(folder, { ...locks[how], waitMs: 30_000 });
const store = stateStore({ file, lock: gatedLock(lock), clock: () => new Date(), waitMs: 30_000 });
const { containerName } = worker(Number(slot));

const updates: Readonly<Record<string, (change: (state: SwarmState) => SwarmState) => Promise<unknown>>> = {
  kernel: (change) => store.update(change),
  portable: (change) => store.update(change),
  async "portable owner"(change) {
    await using owned = owner();
    await owned.update(change);
  },
  // As proper-lockfile is ordinarily used: whoever has the lock reads, changes and writes.
  unfenced: async (change) => {
    await using _held = await bareLock.acquire(30_000);
    await writeUnchecked(change);
  },
  unlocked: writeUnchecked,
};

for (let index = 0; index < Number(count); index += 1) {
  let reached = 0;
  const countUp = (state: SwarmState): SwarmState => {
    if (where === "inside") waitAtGate();
    const record = requireRecord(state, containerName);
    reached = record.lastSeq + 1;
    return stateWithReplacedRecord(state, { ...record, lastSeq: reached });
  };
  try {
    await updates[how]?.(countUp);
    appendFileSync(`${folder}/acknowledged`, `${slot} ${reached}\n`);
  } catch (error) {
    // A refusal is no acknowledgement; what it was is counted by the test.
    appendFileSync(`${folder}/refused`, `${(error as { code?: string }).code ?? error}\n`);
  }
}

async function writeUnchecked(change: (state: SwarmState) => SwarmState): Promise<void> {
  const state = await file.find();
  if (state) await file.write(change({ ...state, revision: state.revision + 1 }));
}

/** The copy is written first, and each of the two asks once. */
function gatedLock(free: Lock): Lock {
  return {
    ...free,
    async acquire(waitMs, signal) {
      const held = await free.acquire(waitMs, signal);
      let asked = 0;
      return {
        ...held,
        async confirm() {
          await held.confirm();
          asked += 1;
          if (where === (asked === 1 ? "copy" : "file")) waitAtGate();
        },
      };
    },
  };
}

/** Holds the whole process, timers and all, as a debugger or a laptop's lid would. */
function waitAtGate(): void {
  if (gate === undefined) return;
  process.stdout.write("inside\n");
  while (!existsSync(gate)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}
