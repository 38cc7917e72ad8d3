import { expect, test } from "vitest";
import { renderJournalMessage, storyIdOfMessage } from "../../../../src/cli/render/journal-lines.ts";
import type { JournalledMessage } from "../../../../src/protocol/rules/protocol-messages.ts";
import { hasControlCharacters } from "../../../../src/text/sanitize-text.ts";
import {
  activity,
  completion,
  errorNews,
  goodNews,
  type News,
  numbered,
  progress,
} from "../../../fakes/protocol/acp-talk.ts";

/** The journals of attempts that said this. */
function told(...attempts: readonly (readonly News[])[]): string[] {
  const messages = attempts.flatMap((news, at) =>
    numbered(news).map((message) => ({ ...message, attempt: at + 1 }) as unknown as JournalledMessage),
  );
  return messages.flatMap((message, at) => renderJournalMessage(message, messages[at - 1] ?? null));
}

test("a journal reads as what happened, when, to which story", () => {
  expect(told(goodNews(["US-001"]))).toEqual([
    "attempt 1, 2026-01-31 UTC",
    "12:00:00  US-001  in progress: US-001 is in_progress",
    "12:00:00  US-001  text: reads the files",
    "12:00:00  US-001  tokens so far: 10 in, 5 out, $0.25",
    "12:00:00  US-001  stored up to commit a1a1a1a1a1, no new commits",
    "12:00:00  US-001  completed, commit a1a1a1a1a1: US-001 is completed",
    "          check npm test: exit 0, 12 ms",
    "          | ok",
    "          | all passed",
    "12:00:00  worker completed at commit a1a1a1a1a1",
  ]);
});

test("a failure shows its reason, its checks and what is kept of it; another attempt begins anew", () => {
  const commit = "b2".repeat(20);
  const failed = progress("US-002", "failed", {
    output: "tried twice\nand gave up",
    reason: { code: "VERIFY_FAILED", message: "`npm test` fails" },
    checks: [
      { command: "npm test", exitCode: 1, durationMs: 61_000, output: "1 failed\n" },
      { command: "npm run slow", exitCode: null, durationMs: 600_000, output: "" },
    ],
    failedWork: { commit, bundle: "/aimi/out/x", bytes: 1, sha256: "0".repeat(64) },
  });
  const end = {
    type: "completion",
    payload: { ...(completion("failed").payload as object), errors: ["US-002"] },
  } as const;

  expect(told([failed, end], [errorNews()])).toEqual([
    "attempt 1, 2026-01-31 UTC",
    "12:00:00  US-002  failed, VERIFY_FAILED: `npm test` fails",
    "          tried twice",
    "          and gave up",
    "          check npm test: exit 1, 1 min 1 s",
    "          | 1 failed",
    "          check npm run slow: ended by its time limit, 10 min 0 s",
    "          the unfinished changes are kept as commit b2b2b2b2b2",
    "12:00:00  worker failed at commit a1a1a1a1a1",
    "          US-002",
    "attempt 2, 2026-01-31 UTC",
    "12:00:00  worker cannot continue, AGENT_NOT_FOUND: there is none",
  ]);
});

test("a story that needed no change says so", () => {
  expect(told([progress("US-001", "completed", { commit: null, output: "" })])).toContain(
    "12:00:00  US-001  completed, nothing had to change",
  );
});

test("what an agent wrote moves no cursor, begins no line and forges none", () => {
  const hostile = "\u001b[2J\u001b]0;title\u0007a\u202eb\r12:00:00  US-009  completed";
  const lines = told([
    activity("US-001", hostile),
    progress("US-001", "failed", {
      output: `${hostile}\nattempt 9`,
      reason: { code: "VERIFY_FAILED", message: hostile },
      checks: [{ command: hostile, exitCode: 1, durationMs: 1, output: `${hostile}\n${hostile}` }],
    }),
    {
      type: "completion",
      payload: { ...(completion("failed").payload as object), errors: [`${hostile}\n${hostile}`] },
    },
    { type: "error", payload: { code: "UNKNOWN_ERROR", message: `${hostile}\n${hostile}` } },
  ]);

  expect(lines.filter((line) => hasControlCharacters(line) || /[\r\n\t]/.test(line))).toEqual([]);
  expect(lines.filter((line) => /^(attempt 9|12:00:00 {2}US-009)/.test(line))).toEqual([]);
});

test("messages about a story name it", () => {
  const [about, whole] = numbered([activity("US-001", "reads"), completion("completed")]) as unknown as [
    JournalledMessage,
    JournalledMessage,
  ];

  expect([storyIdOfMessage(about), storyIdOfMessage(whole)]).toEqual(["US-001", null]);
});
