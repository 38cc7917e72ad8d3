import { expect, test } from "vitest";
import { commandAgent } from "../../../../adapter/agents/command-agent.ts";
import { fakeAgentTools } from "../../../fakes/adapter/agent-tools.ts";

const turn = {
  storyId: "US-001",
  prompt: "Do it",
  continues: false,
  agent: { kind: "command", command: ["tool"] },
} as const;

test("an abort interrupts the program, and kills nothing once the prompt is written", async () => {
  const aborting = new AbortController();
  const tools = fakeAgentTools({
    run: (program, index) => {
      void program.inputEnded.then(() => {
        if (index === 1) aborting.abort();
        program.end(index);
      });
    },
  });

  await commandAgent.runTurn(turn, tools, aborting.signal);

  expect(tools.programs.map(({ signals }) => signals)).toEqual([[], ["interrupt"]]);
});

test("an abort kills the program that writes the prompt", async () => {
  const aborting = new AbortController();
  const tools = fakeAgentTools({ run: (program) => void program.inputEnded.then(() => aborting.abort()) });

  expect(await commandAgent.runTurn(turn, tools, aborting.signal)).toMatchObject({
    kind: "failed",
    message: "the agent's prompt could not be written to /tmp",
  });
  expect(tools.programs.map(({ signals }) => signals)).toEqual([["kill"]]);
});
