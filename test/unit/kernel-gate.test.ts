import { once } from "node:events";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { kernelGate } from "../../src/state/kernel-gate.ts";
import { kernelLock } from "../../src/state/kernel-lock.ts";
import { portableGate } from "../../src/state/portable-gate.ts";
import { test } from "../fakes/folders.ts";
import { ended, startProgram } from "../fakes/processes.ts";

const one = "1a".repeat(32);
const another = "2b".repeat(32);
const busy = { code: "LOCK_TIMEOUT" };
const soon = { waitMs: 40 };

describe("a gate that processes share by a folder", () => {
  test("lets many programs begin at once, and no pause meanwhile", async ({ folder }) => {
    await using _first = await kernelGate(folder).begin(one);
    await using _second = await kernelGate(folder).begin(one);

    await expect(kernelGate(folder, soon).pause(one)).rejects.toMatchObject(busy);
    await using _elsewhere = await kernelGate(folder).pause(another);
  });

  test("lets no program begin and no other pause while one pauses", async ({ folder }) => {
    await using _paused = await kernelGate(folder).pause(one);
    const late = kernelGate(folder, soon);

    await expect(late.begin(one)).rejects.toMatchObject(busy);
    await expect(late.pause(one)).rejects.toMatchObject(busy);
    await using _elsewhere = await late.begin(another);
  });

  test("lets a pause in before the beginnings that come while it waits", async ({ folder }) => {
    const order: string[] = [];
    const first = await kernelGate(folder).begin(one);
    const paused = kernelGate(folder)
      .pause(one)
      .then(async (held) => {
        order.push("pause");
        await held[Symbol.asyncDispose]();
      });
    await expect(kernelGate(folder, soon).begin(one)).rejects.toMatchObject(busy);
    const later = kernelGate(folder)
      .begin(one)
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
      await using _begun = await kernelGate(folder).begin(one);
      await expect(kernelGate(folder, soon).pause(one)).rejects.toMatchObject(busy);
      const gone = AbortSignal.abort(new Error("enough"));
      await expect(kernelGate(folder).pause(one, gone)).rejects.toThrow("enough");
      await using _next = await kernelGate(folder, soon).begin(one);
    }
    await using _alone = await kernelGate(folder, soon).pause(one);
  });

  for (const [held, asked] of [
    ["begin", "pause"],
    ["pause", "begin"],
  ] as const)
    test(`keeps a ${asked} out while another process holds a ${held}, until that is killed`, async ({
      folder,
    }) => {
      const holder = startProgram("hold-gate-process", folder, one, held);
      try {
        if (holder.stdout) await once(holder.stdout, "data");
        await expect(kernelGate(folder, soon)[asked](one)).rejects.toMatchObject(busy);
      } finally {
        holder.kill("SIGKILL");
      }
      await ended(holder);

      await using _freed = await kernelGate(folder, soon)[asked](one);
    });

  test("control: two gates that share nothing let a program begin within a pause", async ({ folder }) => {
    await using _paused = await kernelGate(join(folder, "one")).pause(one);
    await using _begun = await kernelGate(join(folder, "other"), soon).begin(one);
  });
});

describe("the gate where the kernel keeps no locks", () => {
  test("lets one at a time through", async ({ folder }) => {
    const waited: number[] = [];
    const gate = portableGate(folder, async (file) => {
      const lock = kernelLock(file, "test");
      return { ...lock, hold: (ms, signal) => lock.hold(waited.push(ms) > 1 ? 40 : ms, signal) };
    });
    await using _begun = await gate.begin(one);

    await expect(gate.pause(one)).rejects.toMatchObject(busy);
  });
});
