import { describe, expect, test } from "vitest";
import { type DiskMeasurement, isDiskMeasurementDue } from "../../../adapter/machine/disk-watch.ts";
import { nextSizeCheckDelayMs, type SizeGrowth } from "../../../src/machine/rules/next-size-check.ts";

const MB = 1_000_000;
const GB = 1_000 * MB;
const bounds = { minMs: 500, maxMs: 20_000 };

describe("how long until the next look at a disk", () => {
  test.for<[what: string, growth: SizeGrowth, expected: number]>([
    ["nothing grows", { grownBytes: 0, inMs: 3_000, remainingBytes: 8 * GB }, 20_000],
    ["it shrinks", { grownBytes: -GB, inMs: 3_000, remainingBytes: 8 * GB }, 20_000],
    ["it grows slowly", { grownBytes: MB, inMs: 3_000, remainingBytes: 8 * GB }, 20_000],
    ["full in twenty seconds", { grownBytes: 400 * MB, inMs: 1_000, remainingBytes: 8 * GB }, 10_000],
    ["full in four seconds", { grownBytes: 700 * MB, inMs: 1_000, remainingBytes: 2.8 * GB }, 2_000],
    ["full in half a second", { grownBytes: 700 * MB, inMs: 1_000, remainingBytes: 350 * MB }, 500],
    ["full already", { grownBytes: 700 * MB, inMs: 1_000, remainingBytes: -GB }, 500],
    ["no time has passed", { grownBytes: 700 * MB, inMs: 0, remainingBytes: GB }, 500],
  ])("%s", ([_what, growth, expected]) => {
    expect(nextSizeCheckDelayMs(growth, bounds)).toBe(expected);
  });
});

describe("when the disk of a worker is measured", () => {
  /** Writes at a pace from zero on, with a quick look each second; gives what there was whenever it was measured. */
  function measuredAt(bytesPerMs: number, limitBytes: number): number[] {
    const seen: number[] = [];
    let last: DiskMeasurement | null = { atMs: 0, usedBytes: 0, bytesUntilLimit: limitBytes, tookMs: 100 };
    for (let atMs = 1_000; (seen.at(-1) ?? 0) <= limitBytes; atMs += 1_000) {
      const usedBytes = atMs * bytesPerMs;
      if (!isDiskMeasurementDue(last, { atMs, usedBytes })) continue;
      seen.push(usedBytes);
      last = { atMs, usedBytes, bytesUntilLimit: limitBytes - usedBytes, tookMs: 100 };
    }
    return seen;
  }

  test("a limit is passed by no more than what is written between two quick looks", () => {
    const perSecond = 0.7 * GB;

    expect(measuredAt(0.7 * MB, GB).at(-1)).toBeLessThanOrEqual(GB + perSecond);
    expect(measuredAt(0.7 * MB, 8 * GB).at(-1)).toBeLessThanOrEqual(8 * GB + perSecond);
  });

  test("control: only every twenty seconds, the same writer has 14 GB before the first measurement", () => {
    expect(20_000 * 0.7 * MB).toBe(14 * GB);
  });

  test("what grows slowly is measured as seldom as ever", () => {
    expect(measuredAt(0.01 * MB, GB).slice(0, 2)).toEqual([200 * MB, 400 * MB]);
  });

  test("a measurement that takes long is not repeated at once, however fast the disk fills up", () => {
    const last: DiskMeasurement = { atMs: 0, usedBytes: GB, bytesUntilLimit: 1, tookMs: 2_000 };

    const due = [1_000, 4_000, 7_999, 8_000].map((atMs) =>
      isDiskMeasurementDue(last, { atMs, usedBytes: 9 * GB }),
    );

    expect(due).toEqual([false, false, false, true]);
  });

  test("the first measurement is due at once", () => {
    expect(isDiskMeasurementDue(null, { atMs: 0, usedBytes: 0 })).toBe(true);
  });
});
