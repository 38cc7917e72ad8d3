import { describe, expect, test } from "vitest";
import {
  displayWidth,
  toAscii,
  truncateMiddleToWidth,
  truncateToWidth,
} from "../../../../src/cli/board/text-width.ts";

describe("text on a terminal", () => {
  test.each([
    ["", 0],
    ["plain", 5],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["日本語", 6],
    ["한글", 4],
    ["ｆｕｌｌ", 8],
    ["🎉", 2],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["✓ ▸ …", 5],
    ["a\u200db\u00ad", 2],
    ["𠮷", 2],
  ])("%s takes its columns", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  test.each([
    ["plain", 5, "plain"],
    ["plain text", 6, "plain…"],
    ["plain text", 7, "plain…"],
    ["日本語", 6, "日本語"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
    ["👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"],
    ["plain", 1, "…"],
    ["plain", 0, ""],
  ])("%s in %s columns is %s", (text, columns, shown) => {
    expect(truncateToWidth(text, columns, "…")).toBe(shown);
  });

  test.each([
    ["task-1", 6, "task-1"],
    ["a-long-name-1", 9, "a-lo…me-1"],
    ["a-long-name-2", 8, "a-lo…e-2"],
    ["日本語日本語", 7, "日本…語"],
    ["a-long-name", 1, "…"],
  ])("a name like %s keeps its end in %s columns", (text, columns, shown) => {
    expect(truncateMiddleToWidth(text, columns, "…")).toBe(shown);
    expect(displayWidth(shown)).toBeLessThanOrEqual(columns);
  });

  test("without Unicode, what cannot be shown is a question mark", () => {
    expect(toAscii("schöne “Grüße” – 日本 ✓…")).toBe('schone "Gru?e" - ?? ?...');
  });
});
