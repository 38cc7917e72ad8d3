import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runPeriodically } from "../../../../adapter/machine/run-periodically.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what takes longer than the time between is done once at a time, and again when it is over", async () => {
  let begun = 0;
  let over = Promise.withResolvers<void>();
  const stop = runPeriodically(20, () => {
    begun += 1;
    return over.promise;
  });

  await vi.advanceTimersByTimeAsync(200);
  expect(begun).toBe(1);
  over.resolve();
  over = Promise.withResolvers();
  await vi.advanceTimersByTimeAsync(20);
  expect(begun).toBe(2);

  stop();
  over.resolve();
  await vi.advanceTimersByTimeAsync(200);
  expect(begun).toBe(2);
});
