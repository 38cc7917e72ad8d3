import { describe, expect, test } from "vitest";
import type { WorkerSummary } from "../../../../src/contract/summary.ts";
import { computeTimeline } from "../../../../src/swarm/report/rules/timeline.ts";

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const worker = (name: string, startedAt: string | null, finishedAt: string | null): WorkerSummary =>
  ({ worker: name, startedAt, finishedAt }) as WorkerSummary;

describe("who worked when", () => {
  test("is drawn to scale, the earliest first; who has not ended goes on until now", () => {
    const workers = [
      worker("late", at(50), null),
      worker("early", at(0), at(25)),
      worker("never", null, null),
      worker("short", at(100), at(100)),
    ];
    const timeline = computeTimeline({ workers, madeAt: at(100) });

    expect(timeline?.bars.map(({ worker: { worker: name }, from, width }) => [name, from, width])).toEqual([
      ["early", 0, 250],
      ["late", 500, 500],
      // Thin, and yet seen and within the picture.
      ["short", 996, 4],
    ]);
    expect([timeline?.from, timeline?.to]).toEqual([new Date(at(0)), new Date(at(100))]);
  });

  test("is nothing where nobody began, and never wider than all of it", () => {
    expect(computeTimeline({ workers: [worker("never", null, null)], madeAt: at(1) })).toBeNull();
    const [bar] = computeTimeline({ workers: [worker("one", at(5), at(5))], madeAt: at(9) })?.bars ?? [];
    expect([bar?.from, bar?.width]).toEqual([0, 4]);
  });
});
