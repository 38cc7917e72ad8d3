import { describe, expect, test } from "vitest";
import { findNamedTaskFiles, parseTaskChoice } from "../../../src/cli/choose-tasks.ts";

const tasks = ["login", "logout", "old", "2-factor"].map((slug) => ({
  ...{ slug, file: `.aimi/tasks/${slug}-tasks.json`, title: slug, branch: `feat/${slug}`, stories: [] },
  action: slug === "old" ? ("skip" as const) : ("run" as const),
  why: slug === "old" ? "completed on 2026-01-02" : "at once",
}));

function slugsOf(answer: string): string {
  const choice = parseTaskChoice(answer, tasks);
  if (typeof choice === "string") return choice;
  if (choice.length === 0) return "none";
  return choice.map((file) => file.replace(/^.*\/|-tasks\.json$/g, "")).join(" ");
}

describe("an answer to which task files", () => {
  test.each([
    ["", "none"],
    ["  ", "none"],
    ["1", "login"],
    ["1,2", "login logout"],
    ["2 1", "login logout"],
    ["2, 1 , 2", "login logout"],
    ["1-4", "login logout 2-factor"],
    ["4-4", "2-factor"],
    ["a", "login logout 2-factor"],
    ["ALL", "login logout 2-factor"],
    ["logout", "logout"],
    ["2-f", "2-factor"],
    ["1, 2-factor", "login 2-factor"],
    ["0", "0: the tasks have the numbers 1 to 4"],
    ["5", "5: the tasks have the numbers 1 to 4"],
    ["0-2", "0-2 is not a range of numbers from 1 to 4"],
    ["3-1", "3-1 is not a range of numbers from 1 to 4"],
    ["1-9", "1-9 is not a range of numbers from 1 to 4"],
    ["3", "old: completed on 2026-01-02"],
    ["1,old", "old: completed on 2026-01-02"],
    ["3-3", "all tasks in the range 3-3 were already carried out; --again carries them out again"],
    ["log", "log: the answer is neither the number nor the name of a task"],
    ["every\u001b[2Jthing", "everything: the answer is neither the number nor the name of a task"],
  ])("%j means %s", (answer, expected) => {
    expect(slugsOf(answer)).toBe(expected);
  });
});

test("task files are named by their place, and in the old spellings", () => {
  expect(findNamedTaskFiles(["a"], { file: "b", files: "c, d,,e" })).toEqual(["a", "b", "c", "d", "e"]);
  expect(findNamedTaskFiles([], {})).toEqual([]);
});
