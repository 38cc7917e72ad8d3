import type { StoryStatus } from "../../../src/contract/swarm-state.ts";
import {
  type AdapterConversationState,
  newConversationState,
} from "../../../src/protocol/rules/message-order.ts";
import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";

export const swarmId = "3f2b8c1e-5d47-4a69-9b0e-7c1d2e3f4a5b";
export const containerId: string = "c0ffee".repeat(10).padEnd(64, "0");
export const otherContainerId: string = "decade".repeat(10).padEnd(64, "0");
export const attempt = 1;
const commit: string = "a1".repeat(20);

export type News = Pick<JournalledMessage, "type"> & { readonly payload: unknown };

export function progress(storyId: string, status: StoryStatus, more: object = {}): News {
  return {
    type: "progress-update",
    payload: { storyId, status, output: `${storyId} is ${status}`, ...more },
  };
}

export function activity(storyId: string, summary: string): News {
  return { type: "activity", payload: { storyId, kind: "text", summary } };
}

export function completion(status: "completed" | "failed" | "stopped"): News {
  const nothing = { prUrl: null, errors: [], head: commit, bundle: null, sha256: null };
  return { type: "completion", payload: { status, ...nothing } };
}

export function errorNews(code = "AGENT_NOT_FOUND"): News {
  return { type: "error", payload: { code, message: "there is none" } };
}

/** What an adapter says that carries out these stories. */
export function goodNews(storyIds: readonly string[] = ["US-001", "US-002"]): News[] {
  return [
    ...storyIds.flatMap((storyId) => [
      progress(storyId, "in_progress", { from: commit }),
      activity(storyId, "reads the files"),
      { type: "usage", payload: usage(storyId) } as const,
      { type: "checkpoint", payload: { storyId, commit, bundle: null, bytes: 0, sha256: null } } as const,
      progress(storyId, "completed", {
        commit,
        checks: [{ command: "npm test", exitCode: 0, durationMs: 12, output: "ok\nall passed" }],
      }),
    ]),
    completion("completed"),
  ];
}

function usage(storyId: string): object {
  return {
    storyId,
    inputTokens: 10,
    outputTokens: 5,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: 0.25,
  };
}

/** A message as an adapter in our container makes it. */
export function message(type: string, payload: unknown, envelope: object = {}): Record<string, unknown> {
  const timestamp = "2026-01-31T12:00:00.000Z";
  return { type, timestamp, swarmId, attempt, containerId, ...envelope, payload };
}

export function hello(payload: object = {}, envelope: object = {}): Record<string, unknown> {
  const said = { protocol: "acp/1", adapterVersion: "0.1.0", phase: "running", lastSeq: 0, agent: null };
  return message("hello", { ...said, ...payload }, envelope);
}

export function heartbeat(payload: object = {}, envelope: object = {}): Record<string, unknown> {
  const said = { phase: "running", idleMs: 0, rssBytes: 0, diskBytes: 0 };
  return message("heartbeat", { ...said, ...payload }, envelope);
}

/** The messages of a journal that says this. */
export function numbered(news: readonly News[], from = 1): Record<string, unknown>[] {
  return news.map(({ type, payload }, index) => message(type, payload, { seq: from + index }));
}

export function lines(messages: readonly unknown[]): Buffer {
  return Buffer.from(messages.map((said) => `${JSON.stringify(said)}\n`).join(""));
}

export function begin(storyIds: readonly string[] = ["US-001", "US-002"]): AdapterConversationState {
  const statusById = new Map(storyIds.map((id): [string, StoryStatus] => [id, "pending"]));
  return newConversationState({ swarmId, attempt, containerId, statusById });
}

/** The bytes in pieces that end after these counts. */
export async function* inPieces(bytes: Uint8Array, ...ends: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...ends, bytes.length]) {
    if (end > start) yield bytes.subarray(start, end);
    start = Math.max(start, end);
  }
}
