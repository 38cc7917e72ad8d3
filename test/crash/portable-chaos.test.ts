import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { count } from "../counts.ts";
import { eventually } from "../fakes/eventually.ts";
import { test } from "../fakes/folders.ts";
import { ended, startProgram } from "../fakes/machine/processes.ts";
import { swarmOf } from "../fakes/state/records.ts";
import { stateAt } from "../fakes/state/state-at.ts";
import { type UpdateOutcome, updateOutcome } from "../fakes/state/update-outcome.ts";

/** Few: a writer that remembers wrongly goes wrong only if it is the next. */
const writers = 2;
const withinMs = 60_000;

interface Seen extends UpdateOutcome {
  readonly kills: number;
  readonly stops: number;
  /** From the kill of a holder to the next acknowledged update. */
  readonly maxWaitMs: number;
}

/** Writers are killed and stopped, in turn, while they hold the lock; a stopped one goes on when others have taken it over. */
async function hitHolders(
  folder: string,
  how: string,
  { hits, updates, untilLost = false }: { hits: number; updates: number; untilLost?: boolean },
): Promise<Seen> {
  const { store, bareLock } = stateAt(folder, { lockKind: "portable", staleMs: count.staleMs });
  await store.create(swarmOf(writers));
  const alive = new Map<number, ChildProcess>();
  let over = false;
  const bear = (slot: number): void => {
    const child = startProgram("state/update-process", folder, how, String(slot), "1000000");
    const { pid = 0 } = child;
    alive.set(pid, child);
    child.once("exit", () => {
      alive.delete(pid);
      if (!over) bear(slot);
    });
  };
  const more = (than: number): Promise<true> =>
    eventually("an acknowledged update", async () => (acknowledgedIn(folder) > than ? true : null), withinMs);
  /** It is stopped, and has the lock: nothing but time takes it away. */
  const stopHolder = (): Promise<ChildProcess> =>
    eventually(
      "a holder",
      async () => {
        const child = alive.get((await bareLock.holder())?.pid ?? 0);
        if (!child?.pid) return null;
        child.kill("SIGSTOP");
        await eventually("the stop", async () => (isStopped(child) ? true : null), withinMs);
        if ((await bareLock.holder())?.pid === child.pid) return child;
        child.kill("SIGCONT");
        return null;
      },
      withinMs,
    );

  for (let slot = 1; slot <= writers; slot += 1) bear(slot);
  const between = Math.ceil(updates / (2 * hits));
  const done = { kills: 0, stops: 0 };
  let maxWaitMs = 0;
  for (let hit = 0; hit < 2 * hits; hit += 1) {
    // Others have gone on since the last one.
    await more(hit * between);
    const victim = await stopHolder();
    const before = acknowledgedIn(folder);
    if (hit % 2 === 0) {
      const killed = performance.now();
      victim.kill("SIGKILL");
      await more(before);
      maxWaitMs = Math.max(maxWaitMs, performance.now() - killed);
      done.kills += 1;
    } else {
      await more(before + 1);
      victim.kill("SIGCONT");
      done.stops += 1;
      if (untilLost && (await updateOutcome(folder)).lost > 0) break;
    }
  }
  if (!untilLost) await more(updates);
  over = true;
  await Promise.all(
    [...alive.values()].map((child) => {
      child.kill("SIGKILL");
      return ended(child);
    }),
  );
  return { ...done, maxWaitMs, ...(await updateOutcome(folder)) };
}

function isStopped({ pid }: ChildProcess): boolean {
  return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

function acknowledgedIn(folder: string): number {
  try {
    return readFileSync(`${folder}/acknowledged`, "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
}

describe(`${count.holderHits} kills and ${count.holderHits} stops that hit a holder of the portable lock`, () => {
  test("no acknowledged update is lost, and the next writer waits no longer than for a stale lock", async ({
    folder,
  }) => {
    const { refused, ...seen } = await hitHolders(folder, "portable", {
      hits: count.holderHits,
      updates: count.updatesUnderHits,
    });

    console.info(`portable lock: ${JSON.stringify(seen)}, refused ${JSON.stringify(countsOf(refused))}`);
    expect(seen.lost).toBe(0);
    expect(seen.acknowledged).toBeGreaterThanOrEqual(count.updatesUnderHits);
    expect(seen.maxWaitMs).toBeLessThan(count.nextWriterMs);
    expect(refused.filter((code) => code !== "LOCK_LOST")).toEqual([]);
  });

  test("control: without the claims and the last look, some are lost", async ({ folder }) => {
    const { refused, ...seen } = await hitHolders(folder, "unfenced", {
      hits: 30,
      updates: 300,
      untilLost: true,
    });

    console.info(`a lock that can be stolen: ${JSON.stringify(seen)}`);
    expect(seen.lost).toBeGreaterThan(0);
  });
});

function countsOf(words: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...new Set(words)].map((word) => [word, words.filter((other) => other === word).length]),
  );
}
