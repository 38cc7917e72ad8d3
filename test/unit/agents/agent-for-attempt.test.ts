import { expect, test } from "vitest";
import { agentForAttempt } from "../../../src/agents/agent-for-attempt.ts";

const ladder = ["model=middle", "model=large"];

test.for([
  [1, "small"],
  [2, "middle"],
  [3, "large"],
  [9, "large"],
] as const)("attempt %i has the model %s", ([attempt, model]) => {
  expect(agentForAttempt({ kind: "claude", model: "small" }, ladder, attempt)).toEqual({
    kind: "claude",
    model,
  });
});

test("without a ladder every attempt has the same agent", () => {
  expect(agentForAttempt({ kind: "claude" }, [], 3)).toEqual({ kind: "claude" });
});
