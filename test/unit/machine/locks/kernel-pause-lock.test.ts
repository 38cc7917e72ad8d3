import { once } from "node:events";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { kernelLock } from "../../../../src/machine/locks/kernel-lock.ts";
import { kernelPauseLock } from "../../../../src/machine/locks/kernel-pause-lock.ts";
import { portablePauseLock } from "../../../../src/machine/locks/portable-pause-lock.ts";
import { eventually } from "../../../fakes/eventually.ts";
import { test } from "../../../fakes/folders.ts";
import { ended, startProgram } from "../../../fakes/machine/processes.ts";

const one = "1a".repeat(32);
const another = "2b".repeat(32);
const busy = { code: "LOCK_TIMEOUT" };
const soon = { waitMs: 40 };

describe("a gate that processes share by a folder", () => {
  test("lets many programs begin at once, and no pause meanwhile", async ({ folder }) => {
    await using _first = await kernelPauseLock(folder).lockForStart(one);
    await using _second = await kernelPauseLock(folder).lockForStart(one);

    await expect(kernelPauseLock(folder, soon).lockForPause(one)).rejects.toMatchObject(busy);
    await using _elsewhere = await kernelPauseLock(folder).lockForPause(another);
  });

  test("lets no program begin and no other pause while one pauses", async ({ folder }) => {
    await using _paused = await kernelPauseLock(folder).lockForPause(one);
    const late = kernelPauseLock(folder, soon);

    await expect(late.lockForStart(one)).rejects.toMatchObject(busy);
    await expect(late.lockForPause(one)).rejects.toMatchObject(busy);
    await using _elsewhere = await late.lockForStart(another);
  });

  test("lets a pause in before the beginnings that come while it waits", async ({ folder }) => {
    const order: string[] = [];
    const first = await kernelPauseLock(folder).lockForStart(one);
    const paused = kernelPauseLock(folder)
      .lockForPause(one)
      .then(async (held) => {
        order.push("pause");
        await held[Symbol.asyncDispose]();
      });
    // On a busy machine, the pause does not wait yet at the first tries.
    const refused = await eventually("a pause that waits", async () => {
      const start = await kernelPauseLock(folder, soon)
        .lockForStart(one)
        .catch((error: Error) => error);
      if (start instanceof Error) return start;
      await start[Symbol.asyncDispose]();
      return null;
    });
    expect(refused).toMatchObject(busy);
    const later = kernelPauseLock(folder)
      .lockForStart(one)
      .then(async (held) => {
        order.push("begin");
        await held[Symbol.asyncDispose]();
      });

    await first[Symbol.asyncDispose]();
    await Promise.all([paused, later]);

    expect(order).toEqual(["pause", "begin"]);
  });

  test("leaves nothing held by a pause that came too late, or was given up", async ({ folder }) => {
    {
      await using _begun = await kernelPauseLock(folder).lockForStart(one);
      await expect(kernelPauseLock(folder, soon).lockForPause(one)).rejects.toMatchObject(busy);
      const gone = AbortSignal.abort(new Error("enough"));
      await expect(kernelPauseLock(folder).lockForPause(one, gone)).rejects.toThrow("enough");
      await using _next = await kernelPauseLock(folder, soon).lockForStart(one);
    }
    await using _alone = await kernelPauseLock(folder, soon).lockForPause(one);
  });

  for (const [held, asked] of [
    ["lockForStart", "lockForPause"],
    ["lockForPause", "lockForStart"],
  ] as const)
    test(`keeps a ${asked} out while another process holds a ${held}, until that is killed`, async ({
      folder,
    }) => {
      const holder = startProgram("machine/hold-gate-process", folder, one, held);
      try {
        if (holder.stdout) await once(holder.stdout, "data");
        await expect(kernelPauseLock(folder, soon)[asked](one)).rejects.toMatchObject(busy);
      } finally {
        holder.kill("SIGKILL");
      }
      await ended(holder);

      await using _freed = await kernelPauseLock(folder, soon)[asked](one);
    });

  test("control: two gates that share nothing let a program begin within a pause", async ({ folder }) => {
    await using _paused = await kernelPauseLock(join(folder, "one")).lockForPause(one);
    await using _begun = await kernelPauseLock(join(folder, "other"), soon).lockForStart(one);
  });
});

describe("the gate where the kernel keeps no locks", () => {
  test("lets one at a time through", async ({ folder }) => {
    const waited: number[] = [];
    const gate = portablePauseLock(folder, async (file) => {
      const lock = kernelLock(file, "test");
      return { ...lock, acquire: (ms, signal) => lock.acquire(waited.push(ms) > 1 ? 40 : ms, signal) };
    });
    await using _begun = await gate.lockForStart(one);

    await expect(gate.lockForPause(one)).rejects.toMatchObject(busy);
  });
});
