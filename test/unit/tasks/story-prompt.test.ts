import { describe, expect, test } from "vitest";
import { continuePrompt, repairPrompt, storyPrompt } from "../../../src/tasks/rules/story-prompt.ts";

const story = {
  id: "US-002",
  title: "Add a login",
  description: "A form.",
  acceptanceCriteria: ["It works", "It is tested"],
};
const nothing = { taskTitle: "feat: users", story, earlier: [], checks: [] };

describe("the prompt of a story", () => {
  test("says what is to be done, what was done, and what will be run", () => {
    const prompt = storyPrompt({
      ...nothing,
      story: { ...story, notes: "Mind the gap." },
      earlier: [
        { id: "US-001", title: "Begin", commit: "0123456789abcdef" },
        { id: "US-000", title: "Nothing", commit: null },
      ],
      checks: ["npm test"],
    });

    for (const part of [
      "feat: users",
      "# US-002: Add a login",
      "- It works\n- It is tested",
      "## Notes\nMind the gap.",
    ])
      expect(prompt).toContain(part);
    expect(prompt).toContain("- US-001 Begin (commit 0123456789)\n- US-000 Nothing\n");
    expect(prompt).toContain("- `npm test`");
    expect(prompt).not.toMatch(/\n{3}|\{\{/);
  });

  test("leaves out what there is nothing of", () => {
    const prompt = storyPrompt({ ...nothing, story: { ...story, acceptanceCriteria: [] } });

    expect(prompt).not.toMatch(/Notes|Done before|will be run/);
    expect(prompt).toContain("- the work that the description asks for is done");
  });

  test("by a template of one's own leaves names that it does not know", () => {
    expect(storyPrompt(nothing, "{{id}} {{ id }} {{unknown}} {{constructor}} {{toString}} {{title}}")).toBe(
      "US-002 {{ id }} {{unknown}} {{constructor}} {{toString}} Add a login",
    );
  });

  test("takes a text as it is, even one that looks like a template or a replacement", () => {
    const title = "$& $1 {{notes}} `x`";

    expect(storyPrompt({ ...nothing, story: { ...story, title, notes: "secret" } }, "{{title}}")).toBe(title);
  });
});

test("a repair is asked for with the command and the end of its output", () => {
  const prompt = repairPrompt({ storyId: "US-001", command: "npm test", result: "exit 1", output: " \n" });

  expect(prompt).toContain("US-001 is not done yet: a check failed (exit 1)");
  expect(prompt).toContain("`npm test`");
  expect(prompt).toContain("(nothing)");
  expect(continuePrompt("US-003")).toContain("US-003");
});
