import { mkdirSync, readFileSync, renameSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, vi } from "vitest";
import { SwarmError } from "../../src/errors/errors.ts";
import type { Lock } from "../../src/machine/locks/lock.ts";
import { stateWithNewRecord } from "../../src/state/rules/swarm-state.ts";
import { stateStore } from "../../src/state/state-store.ts";
import { count } from "../counts.ts";
import { test } from "../fakes/folders.ts";
import { write } from "../fakes/git/repository.ts";
import { now, swarmOf, worker } from "../fakes/state/records.ts";
import { stateAt } from "../fakes/state/state-at.ts";

/** Which writer a file operation is of, and what it waits for before it. */
const writers = await vi.hoisted(async () => {
  const { AsyncLocalStorage } = await import("node:async_hooks");
  return new AsyncLocalStorage<{ beforeStep(): Promise<void> }>();
});

vi.mock("node:fs/promises", async (importOriginal) => {
  const real = await importOriginal<typeof import("node:fs/promises")>();
  const stepping =
    <Given extends unknown[], Result>(operation: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await writers.getStore()?.beforeStep();
      return operation(...given);
    };
  const steppingHandle = (handle: FileHandle): FileHandle =>
    Object.assign(handle, {
      write: stepping(handle.write.bind(handle)),
      utimes: stepping(handle.utimes.bind(handle)),
      // Nothing here loses its power.
      sync: stepping(async () => undefined),
    });
  return {
    ...real,
    open: stepping(async (...given: Parameters<typeof real.open>) =>
      steppingHandle(await real.open(...given)),
    ),
    link: stepping(real.link),
    mkdir: stepping(real.mkdir),
    readdir: stepping(real.readdir as (path: string) => Promise<string[]>),
    readFile: stepping(real.readFile),
    rename: stepping(real.rename),
    unlink: stepping(real.unlink),
  };
});

type Change = (lock: { readonly fenced: Lock; readonly bare: Lock }) => Lock;

/** Stops before its nth step, until it is told to go on. */
function stopAt(nth: number) {
  const stopped = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let step = 0;
  return {
    stopped: stopped.promise,
    goOn: () => goOn.resolve(),
    async beforeStep() {
      step += 1;
      if (step !== nth) return;
      stopped.resolve();
      await goOn.promise;
    },
  };
}

/** One writer, with what it remembers; its lock is never waited for, as if each holder had been stopped for too long. */
function writerIn(folder: string, lockOf: Change, refusals: string[]) {
  const { file, lock, bareLock } = stateAt(folder, { lockKind: "portable", staleMs: 0 });
  const store = stateStore({
    file,
    lock: lockOf({ fenced: lock, bare: bareLock }),
    clock: () => new Date(now),
  });
  return async (index: number): Promise<number[]> => {
    try {
      await store.update((state) => stateWithNewRecord(state, worker(index), now));
      return [index];
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      refusals.push(error.code);
      return [];
    }
  };
}

/** The first writer is stopped before its nth step, the second before its mth; then the first goes on, then the second. */
async function interleave(folder: string, [nth, mth]: readonly [number, number], lockOf: Change) {
  mkdirSync(folder);
  await stateAt(folder).store.create(swarmOf(0));
  const refusals: string[] = [];
  const [first, second] = [writerIn(folder, lockOf, refusals), writerIn(folder, lockOf, refusals)];
  const acknowledged = [...(await first(1)), ...(await second(2))];

  const [stop, otherStop] = [stopAt(nth), stopAt(mth)];
  const firstEnds = writers.run(stop, () => first(3));
  const isFirstStopped = await Promise.race([stop.stopped.then(() => true), firstEnds.then(() => false)]);
  const secondEnds = writers.run(otherStop, () => second(4));
  const isSecondStopped = await Promise.race([
    otherStop.stopped.then(() => true),
    secondEnds.then(() => false),
  ]);
  stop.goOn();
  acknowledged.push(...(await firstEnds));
  otherStop.goOn();
  acknowledged.push(...(await secondEnds));
  // What they remember must not be newer or older than the file.
  acknowledged.push(...(await first(5)), ...(await second(6)));

  const { file } = stateAt(folder);
  const missing = [await file.find(), await file.findCopy()].flatMap((state) => {
    const names = state?.containers.map(({ containerName }) => containerName) ?? [];
    return acknowledged.filter((index) => !names.includes(worker(index).containerName));
  });
  return { isFirstStopped, isSecondStopped, missing, refusals };
}

/** Every pair of places, or each so manieth, until neither is stopped any more. */
async function interleaveAll(folder: string, lockOf: Change, { untilLost = false, every = 1 } = {}) {
  const lost: string[] = [];
  const refused: string[] = [];
  let pairs = 0;
  for (let nth = 1, isFirst = true; isFirst; nth += every)
    for (let mth = 1, isSecond = true; isSecond; mth += every) {
      if (untilLost && lost.length > 0) return { pairs, lost, refused };
      const seen = await interleave(join(folder, `${nth}-${mth}`), [nth, mth], lockOf);
      [isFirst, isSecond] = [seen.isFirstStopped, seen.isSecondStopped];
      pairs += 1;
      if (seen.missing.length > 0) lost.push(`${nth}-${mth}: ${seen.missing.join(" ")}`);
      refused.push(...seen.refusals);
    }
  return { pairs, lost, refused };
}

describe("what a process remembers of its own write", () => {
  test("is what it wrote, whichever file took its place at any step since", async ({ folder }) => {
    const wrong: number[] = [];
    let isStopped = true;
    for (let nth = 1; isStopped; nth += 1) {
      const { file } = stateAt(join(folder, String(nth)));
      await file.write(swarmOf(1));
      const stop = stopAt(nth);
      const written = writers.run(stop, () => file.write(swarmOf(2)));
      isStopped = await Promise.race([stop.stopped.then(() => true), written.then(() => false)]);
      // By hand, as a restored backup does.
      const backup = write(folder, "backup.json", JSON.stringify(swarmOf(3)));
      renameSync(backup, file.paths.stateFile);
      stop.goOn();
      await written;

      const found = await file.find();
      const { containers } = JSON.parse(readFileSync(file.paths.stateFile, "utf8"));
      if (found?.containers.length !== containers.length) wrong.push(nth);
    }
    expect(wrong).toEqual([]);
  });
});

describe("two writers, each stopped at any step, with a lock that is taken away at any time", () => {
  test("what is acknowledged stays, in the file and in its copy", async ({ folder }) => {
    const { pairs, lost, refused } = await interleaveAll(folder, ({ fenced }) => fenced, {
      every: count.stopEvery,
    });

    console.info(`${pairs} pairs of places, ${refused.length} of the updates refused`);
    expect(lost).toEqual([]);
    expect(pairs).toBeGreaterThan(300 / count.stopEvery ** 2);
    // Who has the lock is never refused for any other reason than that it is lost.
    expect(new Set(refused)).toEqual(new Set(["LOCK_LOST"]));
  });

  test("control: without what was begun being removed, some is lost", async ({ folder }) => {
    expect((await interleaveAll(folder, ({ bare }) => bare, { untilLost: true })).lost).not.toEqual([]);
  });

  test("control: without the last look, some is lost", async ({ folder }) => {
    const blind: Change = ({ fenced }) => ({
      ...fenced,
      acquire: async (...given) => ({ ...(await fenced.acquire(...given)), confirm: async () => {} }),
    });

    expect((await interleaveAll(folder, blind, { untilLost: true })).lost).not.toEqual([]);
  });
});
