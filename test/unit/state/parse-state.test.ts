import { expect, test } from "vitest";
import { parseState } from "../../../src/state/parse-state.ts";
import { recordWith, swarmOf } from "../../fakes/state/records.ts";

const present = { inputTokens: 4, outputTokens: 3, cacheReadTokens: 2, cacheWriteTokens: 1, costUsd: 0.5 };
const earlier = { tokensIn: 4, tokensOut: 3, cacheRead: 2, cacheWrite: 1, costUsd: 0.5 };
const story = { id: "US-001", status: "completed", commit: null, attempt: 1, reason: null } as const;

const bytesOf = (usage: object): Buffer =>
  Buffer.from(
    JSON.stringify({
      ...swarmOf(0),
      containers: [{ ...recordWith({}), usage, stories: [{ ...story, usage }, story] }],
    }),
  );

test("a state of an earlier version is read: its counts of tokens get their present names", async () => {
  expect(await parseState(bytesOf(earlier), "swarm-state.json")).toEqual(
    await parseState(bytesOf(present), "swarm-state.json"),
  );
});

test("a state without usage, and what is no state at all, are not touched", async () => {
  const { containers } = await parseState(Buffer.from(JSON.stringify(swarmOf(1))), "swarm-state.json");

  expect(containers.map(({ usage }) => usage)).toEqual([null]);
  for (const text of ["null", "[]", '{"containers":[null,{"usage":"x"}]}'])
    await expect(parseState(Buffer.from(text), "swarm-state.json")).rejects.toMatchObject({
      code: "STATE_INVALID",
    });
});
