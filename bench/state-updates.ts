import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import lockfile from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import { newSwarm, type SwarmState, withContainer, withRecord } from "../src/domain/swarm-state.ts";
import { parseState } from "../src/schema/read-document.ts";
import { kernelLock } from "../src/state/kernel-lock.ts";
import { ownedState } from "../src/state/owned-state.ts";
import { stateFile } from "../src/state/state-file.ts";
import { stateStore } from "../src/state/state-store.ts";
import type { Comparison } from "./compare.ts";

const writers = 16;
const clock = (): Date => new Date();

type Update = (slot: number) => Promise<unknown>;

/** Sixteen writers at once, against the packages that people use for this, and against a much smaller swarm. */
export function stateUpdates(folder: string): Comparison[] {
  return [
    {
      name: "state updates, 16 writers",
      against: "proper-lockfile + write-file-atomic",
      goal: { sign: "≥", ratio: 5 },
      note: "updates per second, one owner, each on the disk before it counts",
      ours: () => rate(join(folder, "owner"), 16, 40, ownerUpdate),
      theirs: () => rate(join(folder, "packages"), 16, 4, packagesUpdate),
    },
    {
      name: "cost of an update at 1 000 containers",
      against: "at 16 containers",
      goal: { sign: "≤", ratio: 3 },
      note: "milliseconds per update, 16 writers, one owner",
      ours: async () => 1_000 / (await rate(join(folder, "large"), 1_000, 20, ownerUpdate)),
      theirs: async () => 1_000 / (await rate(join(folder, "small"), 16, 20, ownerUpdate)),
    },
  ];
}

/** Updates per second; throws when one was lost. */
async function rate(
  folder: string,
  containers: number,
  updatesEach: number,
  open: (folder: string) => Promise<{ update: Update; close: () => Promise<void> }>,
): Promise<number> {
  await mkdir(folder, { recursive: true });
  await storeIn(folder).replace(swarmOf(containers));
  const { update, close } = await open(folder);
  const started = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, slot) => {
      for (let count = 0; count < updatesEach; count += 1) await update(slot);
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  await close();
  const state = await storeIn(folder).read();
  const counted = state.containers.reduce((sum, { lastSeq }) => sum + lastSeq, 0);
  if (counted !== writers * updatesEach)
    throw new Error(`${writers * updatesEach - counted} updates were lost`);
  return (writers * updatesEach) / seconds;
}

function placesIn(folder: string): Parameters<typeof stateFile>[0] {
  return {
    stateFile: join(folder, "swarm-state.json"),
    copyFile: join(folder, "git", "swarm-state.json"),
    archiveFolder: join(folder, "archive"),
  };
}

function storeIn(folder: string): ReturnType<typeof stateStore> {
  return stateStore({
    file: stateFile(placesIn(folder), parseState),
    lock: kernelLock(join(folder, "state.lock"), "bench"),
    clock,
  });
}

async function ownerUpdate(folder: string): Promise<{ update: Update; close: () => Promise<void> }> {
  const owner = ownedState({
    file: stateFile(placesIn(folder), parseState),
    lock: kernelLock(join(folder, "state.lock"), "bench"),
    clock,
  });
  return {
    update: (slot) => owner.update((state) => countUp(state, slot)),
    close: async () => owner[Symbol.asyncDispose](),
  };
}

/** As these packages are ordinarily used together. */
async function packagesUpdate(folder: string): Promise<{ update: Update; close: () => Promise<void> }> {
  const file = placesIn(folder).stateFile;
  const retries = { retries: 10_000, minTimeout: 1, maxTimeout: 5, factor: 1.2, randomize: true };
  const update = async (slot: number): Promise<void> => {
    const release = await lockfile.lock(file, { realpath: false, retries });
    const state: SwarmState = JSON.parse(await readFile(file, "utf8"));
    await writeFileAtomic(file, `${JSON.stringify(countUp(state, slot), null, 2)}\n`);
    await release();
  };
  return { update, close: async () => {} };
}

function countUp(state: SwarmState, slot: number): SwarmState {
  const record = state.containers[slot];
  if (!record) throw new Error(`there is no container ${slot}`);
  return withRecord(state, { ...record, lastSeq: record.lastSeq + 1 });
}

function swarmOf(containers: number): SwarmState {
  let state = newSwarm(
    { id: "0".repeat(32), slug: "bench", root: "/bench" },
    "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b",
    clock(),
  );
  for (let index = 0; index < containers; index += 1) {
    state = withContainer(
      state,
      {
        containerName: `aimi-bench-${index}`,
        taskFilePath: `.aimi/tasks/${index}-tasks.json`,
        branchName: `feat/${index}`,
      },
      clock(),
    );
  }
  return state;
}
