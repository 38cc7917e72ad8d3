import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ProcessCount, watchProcesses } from "../../../../adapter/machine/process-watch.ts";
import { containerOptions } from "../../../../src/engine/docker/container-options.ts";
import { processLimits } from "../../../../src/engine/rules/process-limits.ts";
import { specOf } from "../../../fakes/engine/containers-suite.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A sandbox whose processes are what the test says. */
function stage() {
  const sandbox = { now: 1, most: 512, refused: 0, ended: 0, told: [] as [ProcessCount, boolean][] };
  const watch = watchProcesses(
    { count: async () => ({ now: sandbox.now, most: sandbox.most }), refusals: async () => sandbox.refused },
    (highest, isCrowd) => sandbox.told.push([highest, isCrowd]),
    async () => {
      sandbox.ended += 1;
      sandbox.now = 1;
    },
  );
  return { sandbox, watch };
}

describe("the processes of a turn", () => {
  test("that are used up for good are ended, and why is told", async () => {
    const { sandbox, watch } = stage();
    await using span = await watch.begin();

    sandbox.now = 505;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sandbox.ended).toBe(0);
    await vi.advanceTimersByTimeAsync(500);

    expect(sandbox.ended).toBe(1);
    expect(span.limitReached.reason).toBe("the sandbox reached its limit of 512 processes");
  });

  test("that are used up for a moment go on, and what failed meanwhile may have failed by that", async () => {
    const { sandbox, watch } = stage();
    await using span = await watch.begin();
    expect(await span.whyRefused()).toBeNull();

    sandbox.now = 512;
    await vi.advanceTimersByTimeAsync(1_000);
    sandbox.now = 12;
    await vi.advanceTimersByTimeAsync(60_000);

    expect({ ended: sandbox.ended, isUsedUp: span.limitReached.aborted }).toEqual({
      ended: 0,
      isUsedUp: false,
    });
    expect(await span.whyRefused()).toMatch(/its limit of 512 processes/);
  });

  test("are known to have been refused where the kernel counts that, however short it was", async () => {
    const { sandbox, watch } = stage();
    sandbox.refused = 7;
    await using span = await watch.begin();
    expect(await span.whyRefused()).toBeNull();

    sandbox.refused = 8;

    expect(await span.whyRefused()).toMatch(/its limit of 512 processes/);
  });

  test("are told of when they become a crowd, and are forgotten with their turn", async () => {
    const { sandbox, watch } = stage();
    await using first = await watch.begin();
    for (const now of [10, 300, 310, 480, 20]) {
      sandbox.now = now;
      await vi.advanceTimersByTimeAsync(500);
    }
    await first[Symbol.asyncDispose]();
    await using second = await watch.begin();
    await vi.advanceTimersByTimeAsync(500);

    expect(await second.whyRefused()).toBeNull();
    expect(sandbox.told.map(([{ now }, isCrowd]) => `${now}${isCrowd ? "!" : ""}`)).toEqual([
      ...["10", "300!", "310", "480!", "480"],
      ...["20", "20"],
    ]);
  });

  test("are not looked at between turns", async () => {
    const { sandbox, watch } = stage();
    await using span = await watch.begin();
    await span[Symbol.asyncDispose]();

    sandbox.now = 512;
    await vi.advanceTimersByTimeAsync(60_000);

    expect(sandbox).toMatchObject({ ended: 0, told: [] });
  });
});

describe("what an engine is told of processes", () => {
  test("is the limit itself where the machine's kernel counts", () => {
    expect(processLimits("runc", 512)).toEqual({
      maxPerContainer: 512,
      maxPerUser: null,
      exhaustedCount: 512,
    });
    expect(processLimits("sysbox-runc", 16)).toEqual({
      maxPerContainer: 16,
      maxPerUser: null,
      exhaustedCount: 16,
    });
  });

  test("leaves gVisor room for its own threads, and has its kernel count the processes", () => {
    expect(processLimits("runsc", 512)).toEqual({
      maxPerContainer: 8_320,
      maxPerUser: 512,
      exhaustedCount: 4_160,
    });
    expect(processLimits("gvisor", 16)).toEqual({
      maxPerContainer: 384,
      maxPerUser: 16,
      exhaustedCount: 192,
    });
  });

  test("is the same rule for whatever is made: a worker has what a sandbox has", () => {
    const { limits, ...spec } = specOf("image", "runsc");
    const { HostConfig } = containerOptions({
      spec: { ...spec, limits: { ...limits, pids: 512 } },
      diskEnforced: false,
      profile: null,
    });

    expect(HostConfig?.PidsLimit).toBe(8_320);
    expect(HostConfig?.Ulimits).toContainEqual({ Name: "nproc", Soft: 512, Hard: 512 });
  });
});
