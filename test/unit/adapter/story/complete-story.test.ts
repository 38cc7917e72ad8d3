import { expect, test } from "vitest";
import { completeStory } from "../../../../adapter/story/complete-story.ts";
import type { StoryExecutionDeps } from "../../../../adapter/story/story-execution.ts";
import type { CheckResult } from "../../../../src/contract/acp.ts";
import { storyWith } from "../../../fakes/tasks/task-files.ts";

const [from, tip] = ["a".repeat(40), "b".repeat(40)];
const check = { command: "npm test", exitCode: 0 } as unknown as CheckResult;

test.each([
  ["done and checked", [check], from],
  ["done; the story has no check", [], from],
  ["the requirement was already met: nothing had to change", [check], tip],
])("a completed story is told as %s", async (output, checks, before) => {
  const said: unknown[] = [];
  const workspace = {
    spec: { base: tip },
    tip: async () => tip,
    treeOf: async () => "tree",
    moveTo: async () => {},
  };
  const deps = {
    ...{
      workspace,
      appendToJournal: async (message: unknown) => void said.push(message),
      conversationOf: () => null,
    },
    ...{ sandbox: {}, task: { swarmId: "s", taskFile: { metadata: { title: "t" } } } },
  } as unknown as StoryExecutionDeps;

  await completeStory(deps, { story: storyWith(), startCommit: before }, { tree: "tree", checks });

  expect(said.at(-1)).toMatchObject({ type: "progress-update", payload: { output, checks } });
});
