import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import lockfile from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import { kernelLock } from "../src/machine/locks/kernel-lock.ts";
import { openOwnerState } from "../src/state/owner-state.ts";
import {
  newSwarmState,
  type SwarmState,
  stateWithNewRecord,
  stateWithReplacedRecord,
} from "../src/state/rules/swarm-state.ts";
import { stateFile } from "../src/state/state-file.ts";
import { stateStore } from "../src/state/state-store.ts";
import { type Bench, type Growth, refuse, timed } from "./bench.ts";
import { type Comparison, percentile } from "./compare.ts";
import { debianProgram } from "./peers.ts";

const writers = 16;
const bound = "the whole state, which is written each time and has a record for each of the thousand";
const clock = (): Date => new Date();

type Update = (slot: number) => Promise<unknown>;

/** Sixteen writers at once, against the packages and the shell tools that people use for this, and against a smaller swarm. */
export const state: Bench = {
  title: `State updates by ${writers} writers at once`,
  async prepare({ folder, isShort, absent }) {
    const packages = { against: "proper-lockfile + write-file-atomic" };
    const note = "updates per second, one owner, each on the disk before it counts";
    const at = (name: string): string => join(folder, name);
    const comparisons: Comparison[] = [
      {
        ...{ name: "state updates, 16 containers", ...packages, goal: { sign: "≥", ratio: 5 }, note },
        ours: async () => (await run(at("owner"), 16, 40, ownerUpdate)).perSecond,
        theirs: async () => (await run(at("packages"), 16, 4, packagesUpdate)).perSecond,
      },
    ];
    if (isShort) return { comparisons };
    comparisons.push(
      {
        ...{ name: "state updates, 1 000 containers", ...packages, goal: { sign: "≥", ratio: 5 }, note },
        ours: async () => (await run(at("owner-1000"), 1_000, 20, ownerUpdate)).perSecond,
        theirs: async () => (await run(at("packages-1000"), 1_000, 2, packagesUpdate)).perSecond,
      },
      {
        name: "the slowest hundredth of state updates",
        ...{ ...packages, goal: { sign: "≤", ratio: 0.1 } },
        note: "milliseconds at the 99th percentile, 16 containers, as many updates of each",
        ours: async () => (await run(at("owner-slow"), 16, 10, ownerUpdate)).slowMs,
        theirs: async () => (await run(at("packages-slow"), 16, 10, packagesUpdate)).slowMs,
        fewestRounds: 3,
      },
      {
        name: "cost of an update at 1 000 containers",
        ...{ against: "at 16 containers", goal: { sign: "≤", ratio: 3 } },
        note: "milliseconds per update, one owner",
        bound,
        ours: async () => 1_000 / (await run(at("large"), 1_000, 20, ownerUpdate)).perSecond,
        theirs: async () => 1_000 / (await run(at("small"), 16, 20, ownerUpdate)).perSecond,
      },
    );
    const [flock, jq] = [await debianProgram("flock", "util-linux"), await debianProgram("jq")];
    if (flock === null || jq === null)
      absent("bash, flock and jq", "they are not installed, and apt could not install them");
    else
      comparisons.push({
        name: "state updates, 16 containers",
        ...{ against: "bash with flock and jq", goal: { sign: "≥", ratio: 50 }, fewestRounds: 3, note },
        ours: async () => (await run(at("owner-shell"), 16, 40, ownerUpdate)).perSecond,
        theirs: async () => (await run(at("shell"), 16, 1, shellUpdate)).perSecond,
      });
    const growth = async (): Promise<Growth[]> => {
      const points: [number, number][] = [];
      for (const containers of [16, 100, 1_000])
        points.push([
          containers,
          1_000 / (await run(at(`grown-${containers}`), containers, 20, ownerUpdate)).perSecond,
        ]);
      return [
        {
          name: "one update among N containers, 16 writers",
          unit: "ms",
          series: [{ name: "swarm", points }],
        },
      ];
    };
    return { comparisons, growth };
  },
};

/** How many updates in a second, and how long the slowest hundredth took; throws when one was lost. */
async function run(
  folder: string,
  containers: number,
  updatesEach: number,
  open: (folder: string) => Promise<{ update: Update; close: () => Promise<void> }>,
): Promise<{ readonly perSecond: number; readonly slowMs: number }> {
  await mkdir(folder, { recursive: true });
  await storeIn(folder).replace(swarmOf(containers));
  const { update, close } = await open(folder);
  const waited: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, slot) => {
      for (let count = 0; count < updatesEach; count += 1) waited.push(await timed(() => update(slot)));
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  await close();
  const now = await storeIn(folder).read();
  const counted = now.containers.reduce((sum, { lastSeq }) => sum + lastSeq, 0);
  refuse(counted !== writers * updatesEach, `${writers * updatesEach - counted} updates were lost`);
  return { perSecond: (writers * updatesEach) / seconds, slowMs: percentile(waited, 0.99) };
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
    file: stateFile(placesIn(folder)),
    lock: kernelLock(join(folder, "state.lock"), "bench"),
    clock,
  });
}

async function ownerUpdate(folder: string): Promise<{ update: Update; close: () => Promise<void> }> {
  const owner = openOwnerState({
    file: stateFile(placesIn(folder)),
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

/** As scripts do it: a lock around a whole pass of jq over the file. */
async function shellUpdate(folder: string): Promise<{ update: Update; close: () => Promise<void> }> {
  const file = placesIn(folder).stateFile;
  const script = `flock "$1.lock" sh -c 'jq --argjson at "$2" ".containers[\\$at].lastSeq += 1" "$1" >"$1.new" && mv "$1.new" "$1"' sh "$1" "$2"`;
  const update = (slot: number): Promise<unknown> =>
    promisify(execFile)("bash", ["-c", script, "bash", file, String(slot)]);
  return { update, close: async () => {} };
}

function countUp(state: SwarmState, slot: number): SwarmState {
  const record = state.containers[slot];
  if (!record) throw new Error(`there is no container ${slot}`);
  return stateWithReplacedRecord(state, { ...record, lastSeq: record.lastSeq + 1 });
}

function swarmOf(containers: number): SwarmState {
  let state = newSwarmState(
    { id: "0".repeat(32), slug: "bench", root: "/bench" },
    "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b",
    clock(),
  );
  for (let index = 0; index < containers; index += 1) {
    state = stateWithNewRecord(
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
