import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import type { ContainerRecord } from "../../state/rules/swarm-state.ts";
import { recordWithMessage } from "../../state/rules/worker-record.ts";
import type { SwarmEvent } from "../../swarm/worker/owner-services.ts";
import { formatDuration } from "../../text/duration-and-size.ts";
import { workerSlug } from "../../text/slugs.ts";

/**
 * A worker's status as the board shows it. The board has statuses that the worker's record in the state file
 * lacks, for example `stalled`.
 */
export type BoardStatus =
  | ("waiting" | "starting" | "running" | "stopping")
  | ("stalled" | "lost" | "paused" | "retrying")
  | ("completed" | "failed" | "skipped" | "stopped");

/** What the board, swarm's live view in the terminal, shows about one worker. */
export interface WorkerView {
  readonly slug: string;
  readonly record: ContainerRecord;
  readonly status: BoardStatus;
  /** The reason for the worker's status, for example why the worker waits; null if there is none to show. */
  readonly why: string | null;
  readonly story: string | null;
  /** The agent's current activity, or how the worker's current story ended. */
  readonly activity: string | null;
  /**
   * When the worker started and ended, in milliseconds of a monotonic clock. Each time is null if this
   * process did not see the event.
   */
  readonly beganAt: number | null;
  readonly endedAt: number | null;
}

/**
 * Makes the board's description of a worker from its record in the state file. Until an event arrives, a
 * worker that has not ended is shown as waiting.
 */
export function toWorkerView(record: ContainerRecord): WorkerView {
  const hasWorkerEnded = isTerminalStatus(record.status);
  return {
    slug: workerSlug(record),
    record,
    status: hasWorkerEnded ? (record.status as "completed" | "failed") : "waiting",
    why: hasWorkerEnded ? reasonIn(record.reason) : null,
    story: null,
    activity: null,
    beganAt: null,
    endedAt: null,
  };
}

/** Returns whether the worker's status on the board means that the worker has ended. */
export function hasWorkerViewEnded({ status }: WorkerView): boolean {
  return ["completed", "failed", "skipped", "stopped"].includes(status);
}

/** Returns how long the worker has run, in milliseconds; null if its start or end is unknown. */
export function workerElapsedMs({ record, beganAt, endedAt }: WorkerView, now: number): number | null {
  if (beganAt !== null) return (endedAt ?? now) - beganAt;
  const { startedAt, finishedAt } = record;
  return startedAt === null || finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt);
}

/** Returns the board's description of a worker, updated after an event from the swarm's owner. */
export function applyOwnerEventToView(
  picture: WorkerView,
  { event, ...facts }: SwarmEvent,
  now: number,
): WorkerView {
  const why = typeof facts["why"] === "string" ? facts["why"] : null;
  switch (event) {
    case "waiting":
    case "paused":
    case "stopping":
      return { ...picture, status: event, why };
    case "started":
      return { ...picture, status: "starting", why: null, story: null, beganAt: now, endedAt: null };
    case "created":
      return { ...picture, status: "starting", why: null };
    case "line":
      return hasWorkerViewEnded(picture) ? picture : withLine(picture, facts["status"], why);
    case "restarted":
    case "retried":
      return { ...picture, status: "retrying", why: retryIn(facts, why), story: null, endedAt: null };
    case "unpaused":
      return { ...picture, status: picture.beganAt === null ? "waiting" : "running", why: null };
    case "ended":
    case "skipped": {
      const { status: end } = facts;
      const ended = end === "completed" || end === "failed" ? end : "stopped";
      const status = event === "skipped" ? event : ended;
      return { ...picture, status, why: reasonIn(facts["reason"]), story: null, endedAt: now };
    }
    default:
      return picture;
  }
}

/** Returns the board's description of a worker, updated after a message from its adapter. */
export function applyAdapterMessageToView(
  picture: WorkerView,
  message: AdapterMessage,
  date: Date,
): WorkerView {
  const isBack = picture.status === "starting" || picture.status === "retrying";
  const next: WorkerView = {
    ...picture,
    record: recordWithMessage(picture.record, message, date),
    ...(isBack ? { status: "running", why: null } : {}),
  };
  if (hasWorkerViewEnded(next)) return next;
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, reason } = message.payload;
      if (status === "in_progress") return { ...next, story: storyId, activity: null };
      return { ...next, story: storyId, activity: reason ? `${status}, ${reason.code}` : status };
    }
    case "activity":
      return { ...next, story: message.payload.storyId, activity: message.payload.summary };
    default:
      return next;
  }
}

function withLine(picture: WorkerView, line: unknown, why: string | null): WorkerView {
  const { status } = picture;
  switch (line) {
    case "stalled":
    case "lost":
    case "paused":
      return { ...picture, status: line, why };
    case "live":
      return ["stalled", "lost", "paused", "starting"].includes(status)
        ? { ...picture, status: "running", why: null }
        : picture;
    default:
      return picture;
  }
}

function retryIn(facts: Readonly<Record<string, unknown>>, why: string | null): string {
  const { attempt, waitMs } = facts;
  const what = typeof attempt === "number" ? `attempt ${attempt}` : "again";
  const when = typeof waitMs === "number" ? ` in ${formatDuration(waitMs)}` : "";
  return `${what}${when}${why ? `: ${why}` : ""}`;
}

function reasonIn(reason: unknown): string | null {
  if (typeof reason !== "object" || reason === null) return null;
  const { code, message } = reason as { readonly code?: unknown; readonly message?: unknown };
  return `${code}: ${message}`;
}
