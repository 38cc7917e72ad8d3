import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";

type Said = {
  [Type in JournalledMessage["type"]]: readonly [
    type: Type,
    payload: Extract<JournalledMessage, { readonly type: Type }>["payload"],
    /** Instead of a minute after the one before. */
    afterMs?: number,
  ];
}[JournalledMessage["type"]];

const swarmId = "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b";
const beginMs = Date.parse("2026-01-02T03:04:05.000Z");

/** The host's journal of an attempt, as it lies on the disk. */
export function journalLines(attempt: number, said: readonly Said[]): string {
  let nowMs = beginMs;
  return said
    .map(([type, payload, afterMs = 60_000], index) => {
      nowMs += afterMs;
      const envelope = { swarmId, attempt, containerId: "c".repeat(12), seq: index + 1 };
      return `${JSON.stringify({ type, timestamp: new Date(nowMs).toISOString(), ...envelope, payload })}\n`;
    })
    .join("");
}

/** What an agent used so far. */
export function usageSoFar(
  storyId: string,
  inputTokens: number,
  costUsd?: number,
): Extract<JournalledMessage, { readonly type: "usage" }>["payload"] {
  const none = { cacheReadTokens: 0, cacheWriteTokens: 0 };
  return {
    ...{ storyId, inputTokens, outputTokens: inputTokens / 10, ...none },
    ...(costUsd !== undefined && { costUsd }),
  };
}
