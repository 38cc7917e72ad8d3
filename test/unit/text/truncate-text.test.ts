import { describe, expect, test } from "vitest";
import { serializeWithinLimit, truncateText, truncateTextStart } from "../../../src/text/truncate-text.ts";

describe("a message", () => {
  test("that fits is left as it is, to the byte", () => {
    const message = { type: "x", text: "ä€😀\u0000", list: [1, null, { deep: "\n" }] };

    expect(serializeWithinLimit(message)).toBe(JSON.stringify(message));
  });

  test.each([
    ["one long text", { output: "x".repeat(100_000) }],
    ["many long texts", { list: Array.from({ length: 60 }, () => ({ output: "€".repeat(3_000) })) }],
    ["texts of characters that JSON writes longer", { output: "\u0001".repeat(60_000) }],
    ["texts of two units for each character", { output: "😀".repeat(40_000) }],
    ["half characters", { output: "\ud800".repeat(40_000) }],
  ])("that does not fit is cut with a mark until it does: %s", (_name, payload) => {
    const line = serializeWithinLimit({ type: "x", payload });

    expect(Buffer.byteLength(`${line}\n`)).toBeLessThanOrEqual(64 * 1024);
    expect(line).toContain("… cut");
    expect(JSON.parse(line).type).toBe("x");
  });

  test("at the limit is measured with its line break", () => {
    const empty = JSON.stringify({ text: "" }).length;
    const longest = { text: "x".repeat(64 * 1024 - 1 - empty) };

    expect(serializeWithinLimit(longest)).toBe(JSON.stringify(longest));
    expect(Buffer.byteLength(serializeWithinLimit({ text: `${longest.text}x` }))).toBeLessThan(3_000);
  });

  test("of too many fields is refused, not torn", () => {
    expect(() => serializeWithinLimit({ list: Array.from({ length: 20_000 }, (_, index) => index) })).toThrow(
      "too many fields",
    );
  });
});

describe("a text that is cut", () => {
  test("keeps characters whole", () => {
    for (let limit = 8; limit < 20; limit += 1) {
      const cut = truncateText("😀".repeat(20), limit);
      expect(cut.length).toBeLessThanOrEqual(limit);
      expect(cut.isWellFormed()).toBe(true);
      const end = truncateTextStart("😀".repeat(20), limit);
      expect(end.length).toBeLessThanOrEqual(limit);
      expect(end.isWellFormed()).toBe(true);
    }
    expect(truncateText("short", 5)).toBe("short");
    expect(truncateTextStart("short", 5)).toBe("short");
    expect(truncateTextStart("longer", 5)).toBe("…nger");
  });
});
