import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, vi } from "vitest";
import type { SwarmError } from "../../../src/errors/errors.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { acquireSwarmOwnership } from "../../../src/state/acquire-ownership.ts";
import { stateWithOwnerCommand } from "../../../src/state/rules/owner-commands.ts";
import { stateWithNewRecord } from "../../../src/state/rules/swarm-state.ts";
import type { StateChange } from "../../../src/state/state-store.ts";
import { test } from "../../fakes/folders.ts";
import { git } from "../../fakes/git/repository.ts";
import { now, swarmOf, worker } from "../../fakes/state/records.ts";
import { stateAt } from "../../fakes/state/state-at.ts";

const holderProgram = fileURLToPath(new URL("../../fakes/machine/hold-lock-process.ts", import.meta.url));

describe("the owner's writes", () => {
  test("are grouped: what is asked for at once is on the disk in a few writes, and nothing is lost", async ({
    folder,
  }) => {
    const { store, owner } = stateAt(folder);
    await store.create(swarmOf(0));
    await using owned = owner();

    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        owned.update((state) => stateWithNewRecord(state, worker(index), now)),
      ),
    );

    const { containers, revision } = await store.read();
    expect(containers).toHaveLength(200);
    expect(revision).toBeLessThan(20);
  });

  test("keep what other commands write meanwhile", async ({ folder }) => {
    const { store, owner } = stateAt(folder);
    await store.create(swarmOf(0));
    await using owned = owner();

    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await owned.update((state) => stateWithNewRecord(state, worker(index), now));
        await store.update((state) => stateWithNewRecord(state, worker(1000 + index), now));
      }),
    );

    expect((await store.read()).containers).toHaveLength(40);
  });

  for (const [lockKind, lockFile] of [
    ["kernel", "state.lock"],
    ["portable", "state.lock.2"],
  ] as const)
    test(`are made again upon what others wrote when the ${lockKind} lock is lost`, async ({ folder }) => {
      const { store, owner } = stateAt(folder, { lockKind });
      await store.create(swarmOf(0));
      let isLost = false;
      const loseOnce = (): void => {
        if (isLost) return;
        isLost = true;
        rmSync(join(folder, "git", lockFile));
      };
      await using owned = owner({ crashPoint: loseOnce });

      const { containers } = await owned.update((state) => stateWithNewRecord(state, worker(1), now));

      expect(isLost).toBe(true);
      expect(containers).toHaveLength(1);
      expect((await store.read()).containers).toEqual(containers);
    });

  test("a change that fails fails alone", async ({ folder }) => {
    const { store, owner } = stateAt(folder);
    await store.create(swarmOf(0));
    await using owned = owner();

    const results = await Promise.allSettled([
      owned.update((state) => stateWithNewRecord(state, worker(1), now)),
      owned.update((state) => stateWithNewRecord(state, worker(1), now)),
      owned.update((state) => stateWithNewRecord(state, worker(2), now)),
    ]);

    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await store.read()).containers).toHaveLength(2);
  });

  test("an update that comes the moment a write ends is written, too", async ({ folder }) => {
    const { store, owner } = stateAt(folder);
    await store.create(swarmOf(0));
    await using owned = owner();

    for (let index = 0; index < 50; index += 1) {
      await owned
        .update((state) => stateWithNewRecord(state, worker(index), now))
        .then(() => owned.update((state) => stateWithNewRecord(state, worker(100 + index), now)));
    }

    expect((await store.read()).containers).toHaveLength(100);
  });

  test("what may wait a moment goes with the next write, in the order in which it was asked for", async ({
    folder,
  }) => {
    const { store, owner } = stateAt(folder);
    const { revision } = await store.create(swarmOf(0));
    await using owned = owner({ maxBatchDelayMs: 600_000 });
    const order: number[] = [];
    const seen =
      (index: number): StateChange =>
      (state) => {
        order.push(index);
        return stateWithNewRecord(state, worker(index), now);
      };

    const waiting = [1, 2, 3].map((index) => owned.updateInBatch(seen(index)));
    await owned.update(seen(4));

    expect((await Promise.all(waiting)).map((state) => state.revision)).toEqual(Array(3).fill(revision + 1));
    expect(order).toEqual([1, 2, 3, 4]);
    expect((await store.read()).containers).toHaveLength(4);
  });

  test("what may wait a moment does so when a write ends meanwhile, too", async ({ folder }) => {
    const { store, owner, lock } = stateAt(folder);
    await store.create(swarmOf(0));
    const begun = Promise.withResolvers<void>();
    const passes = (): void => begun.resolve();
    const acquire = vi.fn(lock.acquire);
    await using owned = owner({ maxBatchDelayMs: 600_000, crashPoint: passes, lock: { ...lock, acquire } });

    const first = owned.update((state) => stateWithNewRecord(state, worker(0), now));
    await begun.promise;
    // The state is being written: this comes too late for it.
    void owned.updateInBatch((state) => stateWithNewRecord(state, worker(1), now));
    await first;
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();

    expect(acquire).toHaveBeenCalledOnce();
  });

  test("what may wait a moment comes after it by itself, all in one write", async ({ folder }) => {
    const { store, owner } = stateAt(folder);
    const { revision } = await store.create(swarmOf(0));
    await using owned = owner({ maxBatchDelayMs: 50 });

    await Promise.all(
      [1, 2, 3].map((index) => owned.updateInBatch((state) => stateWithNewRecord(state, worker(index), now))),
    );

    expect((await store.read()).revision).toBe(revision + 1);
  });

  test("what may wait a moment is on the disk when the owner has ended", async ({ folder }) => {
    const { store, owner } = stateAt(folder);
    await store.create(swarmOf(0));
    {
      await using owned = owner({ maxBatchDelayMs: 600_000 });
      void owned.updateInBatch((state) => stateWithNewRecord(state, worker(1), now));
    }
    expect((await store.read()).containers).toHaveLength(1);
  });

  test("wait in the queue while somebody else holds the lock, say who, acknowledge nothing, and are written in the end", async ({
    folder,
  }) => {
    const { store, owner, lock } = stateAt(folder);
    await store.create(swarmOf(0));
    const delayed = Promise.withResolvers<SwarmError>();
    await using owned = owner({ waitMs: 100, onDelay: delayed.resolve });
    const held = await lock.acquire(1_000);

    let acknowledged = false;
    const update = owned
      .update((state) => stateWithNewRecord(state, worker(1), now))
      .then(() => {
        acknowledged = true;
      });
    const delay = await delayed.promise;

    expect(delay.message).toContain(`pid ${process.pid}`);
    expect(acknowledged).toBe(false);
    await held[Symbol.asyncDispose]();
    await update;
    expect((await store.read()).containers).toHaveLength(1);
  });

  test("a state that was broken by somebody is not overwritten; the change is refused", async ({
    folder,
  }) => {
    const { store, owner, file } = stateAt(folder);
    await store.create(swarmOf(0));
    await using owned = owner();
    writeFileSync(file.paths.stateFile, "{");

    await expect(
      owned.update((state) => stateWithOwnerCommand(state, { of: "swarm", wish: "stop" })),
    ).rejects.toMatchObject({ code: "STATE_INVALID" });
  });
});

describe("ownership", () => {
  test("a second owner is told who the first one is", async ({ folder }) => {
    const file = join(folder, "owner.lock");
    const first = spawn(process.execPath, [holderProgram, "kernel", file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(first.stdout, "data");

    await expect(acquireSwarmOwnership(kernelLock(file, "second"))).rejects.toMatchObject({
      code: "OWNED_BY_ANOTHER",
      exitCode: 6,
      message: expect.stringContaining(`pid ${first.pid}`),
    });
    first.kill("SIGKILL");
    await once(first, "exit");
    await using _second = await acquireSwarmOwnership(kernelLock(file, "second"));
  });

  test("others who only ask do not keep an owner from its place", async ({ folder }) => {
    const file = join(folder, "owner.lock");
    const asking = kernelLock(file, "asking");
    writeFileSync(file, "");
    let stop = false;
    const asked = (async () => {
      while (!stop) await asking.holder();
    })();

    for (let round = 0; round < 20; round += 1) {
      await using _owner = await acquireSwarmOwnership(kernelLock(file, "owner"));
    }

    stop = true;
    await asked;
  });

  test("an owner whose lock file is replaced is told, and starts nothing more", async ({ folder }) => {
    const file = join(folder, "owner.lock");
    await using owner = await acquireSwarmOwnership(kernelLock(file, "first"), { everyMs: 20 });
    const lost = once(owner.lost, "abort");

    rmSync(file);
    await lost;

    expect(owner.lost.reason).toMatchObject({ code: "LOCK_LOST" });
  });

  test("`git clean -fdx` under a living owner: never two owners, and nothing of the state is lost", async ({
    repository,
  }) => {
    const gitFolder = join(repository, ".git", "aimi");
    const lock = kernelLock(join(gitFolder, "owner.lock"), "owner");
    const { store, owner } = stateAt(repository, { gitFolder });
    await store.create(swarmOf(2));
    await using _ownership = await acquireSwarmOwnership(lock);
    await using owned = owner();

    git(repository, "clean", "-fdx");

    await expect(
      acquireSwarmOwnership(kernelLock(join(gitFolder, "owner.lock"), "second")),
    ).rejects.toMatchObject({
      code: "OWNED_BY_ANOTHER",
    });
    await owned.update((state) => stateWithNewRecord(state, worker(9), now));
    expect((await stateAt(repository, { gitFolder }).store.read()).containers).toHaveLength(3);
  });
});
