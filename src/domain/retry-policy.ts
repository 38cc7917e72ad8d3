import { backoffMs } from "./backoff.ts";
import { cleanText } from "./clean-text.ts";
import type { ContainerRecord } from "./generated/swarm-state.ts";
import { endedByItself } from "./own-end.ts";

/** How a swarm continues after a failure. */
export interface RetryPolicy {
  /** The number of attempts of a worker, in all. */
  readonly maxAttempts: number;
  /** Whether the first failure ends the swarm. */
  readonly failFast: boolean;
}

/** Codes after which another attempt would fail in the same way, or needs the user's decision. */
const final: readonly string[] = [
  ...["REQUEST_INVALID", "MISSING_ENV_VAR", "TASK_FILE_NOT_FOUND", "TASK_FILE_INVALID"],
  ...["AGENT_NOT_FOUND", "AGENT_AUTH_FAILED", "DEPENDENCY_FAILED", "BASE_CONFLICT"],
  ...["COLLECT_FAILED", "HISTORY_REWRITTEN", "ACP_PROTOCOL_VIOLATION", "UNKNOWN_ERROR"],
  "BUDGET_EXCEEDED",
];

/** Whether only the user can resolve a failure with this code. */
export function needsHuman(code: string): boolean {
  return final.includes(code) && code !== "DEPENDENCY_FAILED";
}

/** How often the owner restarts a container that ended without a final message, before it leaves it to the user. */
const maxRestarts = 5;

/** The delay before a failed worker's next attempt; null if it gets none. */
export function nextAttemptMs(record: ContainerRecord, policy: RetryPolicy, random: number): number | null {
  const { status, attempt, reason } = record;
  if (status !== "failed" || attempt >= policy.maxAttempts || policy.failFast) return null;
  if (failedLikeBefore(record)) return null;
  return reason !== null && final.includes(reason.code) ? null : 4 * backoffMs(attempt, random);
}

/** Whether the attempt before this one ended in the same way, so that a third one would, too. */
export function failedLikeBefore({ reason, earlier = [] }: ContainerRecord): boolean {
  const before = earlier.at(-1);
  if (reason === null || before === undefined) return false;
  return reason.code === before.code && essence(reason.message) === essence(before.message);
}

/** A message without the parts that differ between two runs: times, numbers, names of objects. */
function essence(message: string): string {
  return cleanText(message, 500).replace(/[0-9a-f]{7,}|\d+/g, "#");
}

/** Codes of transient failures, such as a container that was ended from outside, or an engine in trouble. */
const passing: readonly string[] = [
  ...["INTERRUPTED", "CONTAINER_START_FAILED", "CONTAINER_GONE", "CONTAINER_NOT_RUNNING", "ENGINE_FAILED"],
];

/** Whether the container ended by itself with the same exit code as before, so that a third one would, too. */
export function endedLikeBefore({ exitCode, reason }: ContainerRecord, before: number | null): boolean {
  return reason?.code === "INTERRUPTED" && endedByItself(exitCode) && exitCode === before;
}

/** The delay before the owner restarts a worker after so many interruptions; null if it leaves it to the user. */
export function restartMs(record: ContainerRecord, interruptions: number, random: number): number | null {
  const isPassing = record.reason !== null && passing.includes(record.reason.code);
  if (record.status !== "stopped" || !isPassing || interruptions > maxRestarts) return null;
  return backoffMs(interruptions, random);
}
