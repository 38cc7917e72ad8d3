import { describe, expect, test } from "vitest";
import type { AcpMessage } from "../../../src/contract/acp.ts";
import type { StoryStatus } from "../../../src/contract/swarm-state.ts";
import {
  type AdapterConversationState,
  conversationForJournalReplay,
  conversationForNewConnection,
  judgeMessage,
  judgeUnknownMessage,
  type MessageVerdict,
} from "../../../src/protocol/rules/message-order.ts";
import { findAdapterMessageProblem as findProblem } from "../../../src/schema/find-message-problem.ts";
import { backoffMs } from "../../../src/text/backoff.ts";
import {
  activity,
  begin,
  completion,
  errorNews,
  goodNews,
  heartbeat,
  hello,
  message,
  type News,
  numbered,
  otherContainerId,
  progress,
  swarmId,
} from "../../fakes/protocol/acp-talk.ts";

function judge(known: AdapterConversationState, value: unknown): MessageVerdict {
  expect(findProblem(value)).toBeNull();
  return judgeMessage(known, value as AcpMessage);
}

/** What is known after these messages, each of which must be new. */
function follow(
  messages: readonly unknown[],
  start: AdapterConversationState = begin(),
): AdapterConversationState {
  return messages.reduce<AdapterConversationState>((known, said) => {
    const verdict = judge(known, said);
    if (verdict.kind !== "new") throw new Error(`${JSON.stringify(said)}: ${JSON.stringify(verdict)}`);
    return verdict.nextState;
  }, start);
}

const live = follow([hello()]);

function next(known: AdapterConversationState, { type, payload }: News, envelope: object = {}): unknown {
  return message(type, payload, { seq: known.lastSeq + 1, ...envelope });
}

describe("a conversation", () => {
  test("as it should be is accepted to its end", () => {
    const known = follow([hello({ phase: "waiting" }, { containerId: "" }), ...numbered(goodNews())]);

    expect(known).toMatchObject({ lastSeq: 11, end: { type: "completion" } });
    expect([...known.statusById]).toEqual([
      ["US-001", "completed"],
      ["US-002", "completed"],
    ]);
  });

  const started = follow([next(live, progress("US-001", "in_progress"))] as unknown[], live);
  const cases: readonly (readonly [what: string, AdapterConversationState, unknown, expected: string])[] = [
    [
      "a message for adapters",
      live,
      message("ack", { seq: 1 }, { attempt: undefined }),
      "which only the host may send",
    ],
    ["another swarm", live, heartbeat({}, { swarmId: swarmId.replace("3", "4") }), "another swarm"],
    ["another attempt", live, heartbeat({}, { attempt: 2 }), "belongs to attempt 2"],
    ["another container", live, heartbeat({}, { containerId: otherContainerId }), "another container"],
    ["no container yet", live, heartbeat({}, { containerId: "" }), "new"],
    [
      "another container, while it waits",
      live,
      heartbeat({ phase: "waiting" }, { containerId: otherContainerId }),
      "new",
    ],
    [
      "a heartbeat of an unknown story",
      live,
      heartbeat({ storyId: "US-099" }),
      "the task has no story US-099",
    ],
    ["anything before hello", begin(), heartbeat(), "before hello"],
    ["another protocol", begin(), hello({ protocol: "acp/2" }), "protocol"],
    [
      "a journal that was lost",
      conversationForNewConnection(started),
      hello({ lastSeq: 0 }),
      "journal was lost",
    ],
    ["a journal that has more", conversationForNewConnection(started), hello({ lastSeq: 7 }), "new"],
    ["a second hello", live, hello({ lastSeq: 0 }), "new"],
    ["the next message", live, next(live, activity("US-001", "works")), "new"],
    ["the same message again", started, numbered([progress("US-001", "failed")])[0], "known"],
    [
      "a gap",
      live,
      next(live, activity("US-001", "works"), { seq: 2 }),
      "the adapter sent seq 2 after seq 0: at least one message is missing",
    ],
    [
      "the future",
      live,
      next(live, completion("completed"), { seq: 9_007_199_254_740_991 }),
      "after seq 0: at least one message is missing",
    ],
    [
      "a new message from another container",
      live,
      next(live, activity("US-001", "works"), { containerId: otherContainerId }),
      "another container",
    ],
    [
      "an old message from another container",
      follow([hello({ lastSeq: 1 })]),
      next(live, activity("US-001", "works"), { containerId: otherContainerId }),
      "new",
    ],
    ["an unknown story", live, next(live, activity("US-099", "works")), "the task has no story US-099"],
    [
      "an unknown story's progress",
      live,
      next(live, progress("US-099", "in_progress")),
      "the task has no story US-099",
    ],
    ["an answer to a request", live, message("error", { code: "REQUEST_CONFLICT", message: "no" }), "new"],
  ];

  test.each(cases)("%s", (_what, known, said, expected) => {
    const value = JSON.parse(JSON.stringify(said));

    const verdict = judge(known, value);

    if (verdict.kind === "violation") expect(verdict.reason).toContain(expected);
    else expect(verdict.kind).toBe(expected);
  });
});

const statuses: readonly StoryStatus[] = ["pending", "in_progress", "completed", "failed", "skipped"];
const ways: Readonly<Record<StoryStatus, readonly StoryStatus[]>> = {
  pending: ["pending", "in_progress", "skipped"],
  in_progress: ["in_progress", "completed", "failed"],
  completed: [],
  failed: [],
  skipped: [],
};

describe("a story", () => {
  test.each(statuses.flatMap((from) => statuses.map((to) => [from, to, ways[from].includes(to)] as const)))(
    "that is %s may become %s: %s",
    (from, to, isAllowed) => {
      const known = { ...live, statusById: new Map([["US-001", from]]) };

      const verdict = judge(known, next(known, progress("US-001", to)));

      expect(verdict.kind).toBe(isAllowed ? "new" : "violation");
      if (verdict.kind === "new") expect(verdict.nextState.statusById.get("US-001")).toBe(to);
      expect(known.statusById.get("US-001")).toBe(from);
    },
  );
});

describe("the end", () => {
  const ends = ["completed", "failed", "stopped"] as const;

  test.each(ends)("by completion %s, live: nothing follows in this connection", (status) => {
    const known = follow([next(live, completion(status))] as unknown[], live);

    expect(judge(known, next(known, activity("US-001", "goes on")))).toMatchObject({ kind: "violation" });
    expect(judge(known, heartbeat())).toMatchObject({ kind: "new" });
  });

  test("by an error, live: nothing follows in this connection", () => {
    const known = follow([next(live, errorNews())] as unknown[], live);

    expect(judge(known, next(known, completion("completed")))).toMatchObject({ kind: "violation" });
  });

  test.each([
    ["completed", "violation"],
    ["failed", "violation"],
    ["stopped", "new"],
  ] as const)("by completion %s, in another connection: what follows is %s", (status, expected) => {
    const ended = follow([next(live, completion(status))] as unknown[], live);
    const again = follow([hello({ lastSeq: 1, phase: "waiting" })], conversationForNewConnection(ended));

    expect(judge(again, next(again, activity("US-001", "goes on"))).kind).toBe(expected);
  });

  test("of a run, of which a journal tells what followed it", () => {
    const news = [completion("stopped"), errorNews(), progress("US-001", "in_progress")];

    expect(follow(numbered(news), conversationForJournalReplay(begin()))).toMatchObject({
      lastSeq: 3,
      end: null,
    });
    expect(() =>
      follow(numbered([completion("failed"), ...news]), conversationForJournalReplay(begin())),
    ).toThrow("violation");
  });
});

describe("a message of an unknown type", () => {
  const said = message("telemetry", { any: ["thing"] });

  test.each<readonly [string, object, MessageVerdict["kind"]]>([
    ["that is addressed like ours", {}, "ignored"],
    ["of another swarm", { swarmId: "x" }, "violation"],
    ["of another attempt", { attempt: "1" }, "violation"],
    ["of no container", { containerId: 7 }, "violation"],
    ["without a time", { timestamp: "now" }, "violation"],
    ["without content", { payload: null }, "violation"],
    ["of no proper name", { type: "\u001b[2J" }, "violation"],
    ["with a place in the sequence", { seq: 1 }, "violation"],
  ])("%s is %s", (_what, change, expected) => {
    expect(judgeUnknownMessage(live, { ...said, ...change }).kind).toBe(expected);
  });
});

test("waiting grows to thirty seconds and no further, and is never at the same time for all", () => {
  expect([1, 2, 3, 7, 8, 9, 1000].map((failures) => backoffMs(failures, 1))).toEqual([
    250, 500, 1000, 16_000, 30_000, 30_000, 30_000,
  ]);
  expect(backoffMs(8, 0)).toBe(15_000);
});
