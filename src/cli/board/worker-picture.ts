import type { AdapterMessage } from "../../domain/acp-messages.ts";
import { isTerminal } from "../../domain/container-status.ts";
import { showDuration } from "../../domain/duration.ts";
import { workerSlug } from "../../domain/slug.ts";
import type { ContainerRecord } from "../../domain/swarm-state.ts";
import { withMessage } from "../../domain/worker-record.ts";
import type { SwarmEvent } from "../../swarm/swarm-deps.ts";

/** How a worker is, in a word for people: finer than its record's status. */
export type ShownStatus =
  | ("waiting" | "starting" | "running" | "stopping")
  | ("stalled" | "lost" | "paused" | "retrying")
  | ("completed" | "failed" | "skipped" | "stopped");

/** What is known of a worker while its swarm runs. */
export interface WorkerPicture {
  readonly slug: string;
  readonly record: ContainerRecord;
  readonly status: ShownStatus;
  /** Why it waits, is stalled, failed … */
  readonly why: string | null;
  readonly story: string | null;
  /** What its agent does, or what became of the story. */
  readonly activity: string | null;
  /** When it began and ended, by a clock that never goes back; null when it has not, or did before anybody looked. */
  readonly beganAt: number | null;
  readonly endedAt: number | null;
}

/** A worker as its record has it. What has not come to its end waits for its turn, whatever it did before. */
export function pictureOf(record: ContainerRecord): WorkerPicture {
  const hasEnded = isTerminal(record.status);
  return {
    slug: workerSlug(record),
    record,
    status: hasEnded ? (record.status as "completed" | "failed") : "waiting",
    why: hasEnded ? reasonIn(record.reason) : null,
    ...{ story: null, activity: null, beganAt: null, endedAt: null },
  };
}

/** Whether nothing more happens to it by itself. */
export function hasEnded({ status }: WorkerPicture): boolean {
  return status === "completed" || status === "failed" || status === "skipped" || status === "stopped";
}

/** For how long it has been running, or ran; null when it never did. */
export function elapsedMs({ record, beganAt, endedAt }: WorkerPicture, now: number): number | null {
  if (beganAt !== null) return (endedAt ?? now) - beganAt;
  const { startedAt, finishedAt } = record;
  return startedAt === null || finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt);
}

/** After something that the owner decided or did. */
export function withEvent(
  picture: WorkerPicture,
  { event, ...facts }: SwarmEvent,
  now: number,
): WorkerPicture {
  const why = typeof facts["why"] === "string" ? facts["why"] : null;
  switch (event) {
    case "waiting":
      return { ...picture, status: "waiting", why };
    case "started":
      return { ...picture, status: "starting", why: null, story: null, beganAt: now, endedAt: null };
    case "created":
      return { ...picture, status: "starting", why: null };
    case "line":
      return hasEnded(picture) ? picture : withLine(picture, facts["status"], why);
    case "restarted":
    case "retried":
      return { ...picture, status: "retrying", why: retryIn(facts, why), story: null, endedAt: null };
    case "paused":
      return { ...picture, status: "paused", why };
    case "unpaused":
      return { ...picture, status: picture.beganAt === null ? "waiting" : "running", why: null };
    case "stopping":
      return { ...picture, status: "stopping", why };
    case "ended":
    case "skipped": {
      const status = event === "skipped" ? event : endIn(facts["status"]);
      return { ...picture, status, why: reasonIn(facts["reason"]), story: null, endedAt: now };
    }
    default:
      return picture;
  }
}

/** After something that it said itself. */
export function withSaid(picture: WorkerPicture, message: AdapterMessage, date: Date): WorkerPicture {
  const isHeardAgain = picture.status === "starting" || picture.status === "retrying";
  const next: WorkerPicture = {
    ...picture,
    record: withMessage(picture.record, message, date),
    ...(isHeardAgain ? { status: "running", why: null } : {}),
  };
  if (hasEnded(next)) return next;
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

function withLine(picture: WorkerPicture, line: unknown, why: string | null): WorkerPicture {
  const { status } = picture;
  switch (line) {
    case "stalled":
    case "lost":
    case "paused":
      return { ...picture, status: line, why };
    case "live":
      return status === "stalled" || status === "lost" || status === "paused" || status === "starting"
        ? { ...picture, status: "running", why: null }
        : picture;
    default:
      return picture;
  }
}

function retryIn(facts: Readonly<Record<string, unknown>>, why: string | null): string {
  const { attempt, waitMs } = facts;
  const what = typeof attempt === "number" ? `attempt ${attempt}` : "again";
  const when = typeof waitMs === "number" ? ` in ${showDuration(waitMs)}` : "";
  return `${what}${when}${why ? `: ${why}` : ""}`;
}

function endIn(status: unknown): "completed" | "failed" | "stopped" {
  return status === "completed" || status === "failed" ? status : "stopped";
}

function reasonIn(reason: unknown): string | null {
  if (typeof reason !== "object" || reason === null) return null;
  const { code, message } = reason as { readonly code?: unknown; readonly message?: unknown };
  return `${code}: ${message}`;
}
