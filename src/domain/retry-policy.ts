import { backoffMs } from "./backoff.ts";
import { cleanText } from "./clean-text.ts";
import type { ContainerRecord } from "./generated/swarm-state.ts";
import { isOwnEnd } from "./own-end.ts";

/** How a swarm goes on after something went wrong. */
export interface RetryPolicy {
  /** How many attempts a worker has in all. */
  readonly maxAttempts: number;
  /** Whether the first failure ends the swarm. */
  readonly failFast: boolean;
}

/** Another attempt would meet the same obstacle, or has to be somebody's decision. */
const final: readonly string[] = [
  ...["REQUEST_INVALID", "MISSING_ENV_VAR", "TASK_FILE_NOT_FOUND", "TASK_FILE_INVALID"],
  ...["AGENT_NOT_FOUND", "AGENT_AUTH_FAILED", "DEPENDENCY_FAILED", "BASE_CONFLICT"],
  ...["COLLECT_FAILED", "HISTORY_REWRITTEN", "ACP_PROTOCOL_VIOLATION", "UNKNOWN_ERROR"],
  "BUDGET_EXCEEDED",
];

/** Whether only a person can get on with it. */
export function isForAPerson(code: string): boolean {
  return final.includes(code) && code !== "DEPENDENCY_FAILED";
}

/** How often a container that ended without a last word is started again before it is left to people. */
const mostRestarts = 5;

/** How long to wait before a failed worker's next attempt; null for none. */
export function nextAttemptMs(record: ContainerRecord, policy: RetryPolicy, random: number): number | null {
  const { status, attempt, reason } = record;
  if (status !== "failed" || attempt >= policy.maxAttempts || policy.failFast) return null;
  if (failedLikeBefore(record)) return null;
  return reason !== null && final.includes(reason.code) ? null : 4 * backoffMs(attempt, random);
}

/** Whether the attempt before this one came to the very same end: a third one would, too. */
export function failedLikeBefore({ reason, earlier = [] }: ContainerRecord): boolean {
  const before = earlier.at(-1);
  if (reason === null || before === undefined) return false;
  return reason.code === before.code && essence(reason.message) === essence(before.message);
}

/** Without what differs between two runs of the same thing: times, numbers, names of objects. */
function essence(message: string): string {
  return cleanText(message, 500).replace(/[0-9a-f]{7,}|\d+/g, "#");
}

/** What may be another thing a moment later: a container that was ended from outside, an engine in trouble. */
const passing: readonly string[] = [
  ...["INTERRUPTED", "CONTAINER_START_FAILED", "CONTAINER_GONE", "CONTAINER_NOT_RUNNING", "ENGINE_FAILED"],
];

/** Whether its container ended by itself just as it did before: a third one would, too. */
export function endedLikeBefore({ exitCode, reason }: ContainerRecord, before: number | null): boolean {
  return reason?.code === "INTERRUPTED" && isOwnEnd(exitCode) && exitCode === before;
}

/** How long to wait before a worker that was interrupted so often goes on; null when it is left to people. */
export function restartMs(record: ContainerRecord, interruptions: number, random: number): number | null {
  const isPassing = record.reason !== null && passing.includes(record.reason.code);
  if (record.status !== "stopped" || !isPassing || interruptions > mostRestarts) return null;
  return backoffMs(interruptions, random);
}
