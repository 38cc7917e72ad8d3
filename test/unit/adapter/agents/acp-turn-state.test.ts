import { expect, test } from "vitest";
import {
  applyAcpUpdate,
  createAcpTurnState,
  endOpenToolCalls,
} from "../../../../adapter/agents/acp-turn-state.ts";

test("of any number of tools the newest are remembered", () => {
  let facts = createAcpTurnState();
  for (let id = 0; id < 5_000; id += 1)
    facts = applyAcpUpdate(facts, { sessionUpdate: "tool_call", toolCallId: `${id}`, title: "a" }).facts;

  const left = endOpenToolCalls(facts).map(({ tool }) => tool?.id);

  expect(left).toHaveLength(1_000);
  expect(left.at(-1)).toBe("4999");
});

test("a tool whose name is too long to be remembered is left out", () => {
  const call = { sessionUpdate: "tool_call", toolCallId: "x".repeat(10_000), title: "a" };

  expect(applyAcpUpdate(createAcpTurnState(), call).activities).toEqual([]);
});
