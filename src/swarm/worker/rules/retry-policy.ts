import type { ContainerRecord } from "../../../contract/swarm-state.ts";
import { hasProgramFailedByItself } from "../../../engine/rules/program-failed-by-itself.ts";
import { backoffMs } from "../../../text/backoff.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";

/** The user's rules for a swarm's behaviour after a worker's failure. */
export interface RetryPolicy {
  /** The maximum number of attempts per worker, including the first. */
  readonly maxAttempts: number;
  /** Whether the first failure of a worker ends the whole swarm. */
  readonly failFast: boolean;
}

/**
 * Error codes after which swarm does not retry a worker, because another attempt would fail in the same way,
 * or because the user must decide.
 */
const final: readonly string[] = [
  "REQUEST_INVALID",
  "MISSING_ENV_VAR",
  "TASK_FILE_NOT_FOUND",
  "TASK_FILE_INVALID",
  "AGENT_NOT_FOUND",
  "AGENT_AUTH_FAILED",
  "DEPENDENCY_FAILED",
  "BASE_CONFLICT",
  "COLLECT_FAILED",
  "HISTORY_REWRITTEN",
  "ACP_PROTOCOL_VIOLATION",
  "UNKNOWN_ERROR",
  "BUDGET_EXCEEDED",
];

/** Whether a worker's failure with this error code needs the user, because a retry cannot resolve it. */
export function failureNeedsUser(code: string): boolean {
  return final.includes(code) && code !== "DEPENDENCY_FAILED";
}

/**
 * The maximum number of times that the owner restarts a worker's container that ended without the adapter's
 * final message. After that, only the user can restart the worker.
 */
const maxRestarts = 5;

/**
 * Returns the delay in milliseconds before a failed worker's next attempt; null if swarm makes no further
 * attempt.
 */
export function nextAttemptDelayMs(
  record: ContainerRecord,
  policy: RetryPolicy,
  random: number,
): number | null {
  const { status, attempt, reason } = record;
  if (status !== "failed" || attempt >= policy.maxAttempts || policy.failFast) return null;
  if (hasRepeatedFailure(record)) return null;
  return reason !== null && final.includes(reason.code) ? null : 4 * backoffMs(attempt, random);
}

/**
 * Whether a worker's last two attempts failed in the same way, so that a third attempt would probably fail,
 * too.
 */
export function hasRepeatedFailure({ reason, earlier = [] }: ContainerRecord): boolean {
  const before = earlier.at(-1);
  if (reason === null || before === undefined) return false;
  return reason.code === before.code && essence(reason.message) === essence(before.message);
}

/**
 * Returns an error message without times, numbers and hexadecimal IDs. These differ between attempts, even if
 * the attempts failed in the same way.
 */
function essence(message: string): string {
  return sanitizeText(message, 500).replace(/[0-9a-f]{7,}|\d+/g, "#");
}

/**
 * Error codes of temporary failures, after which a restart may help, for example if a container was killed or
 * a call of the engine failed.
 */
const passing: readonly string[] = [
  "INTERRUPTED",
  "CONTAINER_START_FAILED",
  "CONTAINER_GONE",
  "CONTAINER_NOT_RUNNING",
  "ENGINE_FAILED",
];

/**
 * Whether the program in the worker's container failed twice in a row with the same exit code, so that
 * another restart would probably not help.
 */
export function hasRepeatedExitCode({ exitCode, reason }: ContainerRecord, before: number | null): boolean {
  return reason?.code === "INTERRUPTED" && hasProgramFailedByItself(exitCode) && exitCode === before;
}

/**
 * Returns the delay in milliseconds before the owner restarts a worker that was interrupted `interruptions`
 * times. Null if the owner does not restart the worker.
 */
export function restartDelayMs(
  record: ContainerRecord,
  interruptions: number,
  random: number,
): number | null {
  const isPassing = record.reason !== null && passing.includes(record.reason.code);
  if (record.status !== "stopped" || !isPassing || interruptions > maxRestarts) return null;
  return backoffMs(interruptions, random);
}
