import { describe, expect, test } from "vitest";
import { parseUnattendedEndTime } from "../../../../src/swarm/schedule/rules/unattended-end.ts";

describe("the end of a night", () => {
  const evening = new Date(2026, 0, 31, 22, 30);

  test("is the next time that the clock says so", () => {
    expect(parseUnattendedEndTime("07:00", evening)).toEqual(new Date(2026, 1, 1, 7, 0));
    expect(parseUnattendedEndTime("7:05", evening)).toEqual(new Date(2026, 1, 1, 7, 5));
    expect(parseUnattendedEndTime("23:59", evening)).toEqual(new Date(2026, 0, 31, 23, 59));
    expect(parseUnattendedEndTime("22:30", evening)).toEqual(new Date(2026, 1, 1, 22, 30));
  });

  test("is so long from now", () => {
    expect(parseUnattendedEndTime("6h", evening)?.getTime()).toBe(evening.getTime() + 6 * 3_600_000);
  });

  test.for(["", "7", "24:00", "07:60", "7am", "0s", "25h", "2d", "-1h", "07:00:00"])("is not %j", (text) => {
    expect(parseUnattendedEndTime(text, evening)).toBeNull();
  });
});
