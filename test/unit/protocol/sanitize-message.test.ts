import { expect, test } from "vitest";
import type { AcpMessage } from "../../../src/contract/acp.ts";
import { sanitizeMessage } from "../../../src/protocol/rules/sanitize-message.ts";
import { message, progress } from "../../fakes/protocol/acp-talk.ts";

function progressWith(output: string, checkOutput: string): AcpMessage {
  const check = { command: "npm test", exitCode: 0, durationMs: 1, output: checkOutput };
  const { type, payload } = progress("US-001", "completed", { output, checks: [check] });
  return message(type, payload, { seq: 1 }) as unknown as AcpMessage;
}

test("a message in which nothing is to be cleaned stays the one that it is", () => {
  const plain = progressWith("all is done", "3 passed");

  expect(sanitizeMessage(plain)).toBe(plain);
});

test("what is to be cleaned is, at the top of a message and deep in its lists, and nothing else changes", () => {
  const [dirty, clean] = [
    progressWith("all \u202eis done", "3 \u202epassed"),
    progressWith("all is done", "3 passed"),
  ];
  const before = JSON.stringify(dirty);

  expect(sanitizeMessage(dirty)).toEqual(clean);
  expect(JSON.stringify(dirty)).toBe(before);
});
