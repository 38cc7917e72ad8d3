import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createActivityFeed } from "../../../../adapter/turn/activity-feed.ts";
import { UsageTracker } from "../../../../adapter/turn/usage-tracker.ts";
import type { UsageSoFar } from "../../../../src/contract/acp.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const text = (summary: string) => ({ storyId: "US-001", kind: "text", summary }) as const;

describe("what an agent is seen to do", () => {
  test("is at most four things a second, and always the newest", () => {
    const told: string[] = [];
    const feed = createActivityFeed(({ summary }) => told.push(summary));

    for (let at = 0; at < 1_000; at += 10) {
      feed.report(text(`at ${at}`));
      vi.advanceTimersByTime(10);
    }
    vi.advanceTimersByTime(1_000);

    expect(told).toEqual(["at 0", "at 240", "at 490", "at 740", "at 990"]);
  });

  test("comes before what is told next", () => {
    const told: string[] = [];
    const feed = createActivityFeed(({ summary }) => told.push(summary));
    feed.report(text("first"));
    feed.report(text("second"));

    feed.flush();

    expect(told).toEqual(["first", "second"]);
    feed.flush();
    vi.advanceTimersByTime(1_000);
    expect(told).toHaveLength(2);
  });

  test("is one line of at most 300 characters without anything that a terminal obeys; nothing is nothing", () => {
    const told: string[] = [];
    const feed = createActivityFeed(({ summary }) => told.push(summary));

    feed.report(text("\u001b[31m \r\n \u0007"));
    feed.report(text(`\u001b]0;owned\u0007one\ntwo ${"x".repeat(400)}`));

    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^one two x+…$/);
    expect(told[0]?.length).toBe(300);
  });

  test("costs no time to speak of, however long its lines are", () => {
    const feed = createActivityFeed(() => {});
    const line = "\u001b[1mx".repeat(1_600_000);
    const begun = performance.now();

    for (let count = 0; count < 100; count += 1) feed.report(text(line));

    expect(performance.now() - begun).toBeLessThan(2_500);
  });
});

describe("what an attempt has spent", () => {
  const usage = (inputTokens: number, costUsd?: number) => ({
    ...{ inputTokens, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
    ...(costUsd === undefined ? {} : { costUsd }),
  });

  test("is told once a second and at the end of each turn, and only grows with the turns", () => {
    const told: UsageSoFar[] = [];
    const spending = new UsageTracker(usage(100, 1), (each) => told.push(each));

    spending.note("US-001", usage(10, 0.5));
    spending.note("US-001", usage(20, 0.5));
    vi.advanceTimersByTime(1_000);
    spending.note("US-001", usage(30, 0.5));
    spending.note("US-001", usage(40, 0.5));
    spending.endTurn("US-001");
    spending.endTurn("US-001");
    spending.note("US-002", usage(5));
    spending.endTurn("US-002");

    expect(told.map(({ storyId, inputTokens }) => [storyId, inputTokens])).toEqual([
      ["US-001", 110],
      ["US-001", 130],
      ["US-001", 140],
      ["US-002", 145],
    ]);
    expect(told.at(-1)).toMatchObject({ outputTokens: 3, costUsd: 1.5 });
  });

  test.each([-5, Number.NaN, Number.POSITIVE_INFINITY, "7" as unknown as number])(
    "what is no count is none: %s",
    (claim) => {
      const told: UsageSoFar[] = [];
      const spending = new UsageTracker(usage(100), (each) => told.push(each));

      spending.note("US-001", usage(claim, Number.isFinite(claim) ? claim : undefined));

      expect(told[0]?.inputTokens).toBe(100);
    },
  );

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])("what is no cost is none: %s", (claim) => {
    const told: UsageSoFar[] = [];
    const spending = new UsageTracker(usage(100, 2), (each) => told.push(each));

    spending.note("US-001", usage(1, claim));

    expect(told[0]?.costUsd).toBe(2);
  });

  test("is never more than the protocol can say", () => {
    const told: UsageSoFar[] = [];
    const spending = new UsageTracker(usage(100, 2), (each) => told.push(each));

    spending.note("US-001", usage(1e300, 1e300));
    spending.endTurn("US-001");
    spending.note("US-002", usage(1e300, 1e300));
    spending.endTurn("US-002");

    expect(told.at(-1)).toMatchObject({ inputTokens: Number.MAX_SAFE_INTEGER, costUsd: 1e9 });
  });
});
