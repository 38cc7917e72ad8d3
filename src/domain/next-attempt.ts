import { cleanText } from "./clean-text.ts";
import type { ContainerRecord, EarlierAttempt, Reason, SwarmState } from "./generated/swarm-state.ts";
import { workerSlug } from "./slug.ts";
import { movedTo } from "./swarm-state.ts";
import { workerContainerName } from "./worker-names.ts";
import { progressOf } from "./worker-record.ts";

interface Retrying {
  /** Commits of stories that never reached the host's repository. */
  readonly lost: ReadonlySet<string>;
  /** The completed story to rework, by the worker's container name. */
  readonly reopened: ReadonlyMap<string, string>;
  readonly now: Date;
}

/** The starting point of a worker that reworks a story. */
export interface ReworkStart {
  readonly reason: Reason;
  readonly storyId: string;
  /** The worker's result merged with `base`; its ref moves to this commit. */
  readonly commit: string;
  readonly base: string;
  readonly now: Date;
}

/**
 * Gives workers whose results a merge set aside another attempt, from their results merged with the base; workers that were
 * skipped wait again.
 */
export function withRework(state: SwarmState, startByName: ReadonlyMap<string, ReworkStart>): SwarmState {
  const containers = state.containers.map((record) => {
    const start = startByName.get(record.containerName);
    if (isSkipped(record) && startByName.size > 0) {
      const [first] = startByName.values();
      return first ? movedTo(record, "pending", null, first.now) : record;
    }
    if (!start || record.collected === null) return record;
    const { reason, storyId, commit, base, now } = start;
    const { collected } = record;
    const next = nextAttempt(
      state,
      { ...record, reason: record.reason ?? reason },
      { lost: new Set(), reopened: new Map([[record.containerName, storyId]]), now },
    );
    return {
      ...{ ...next, baseCommit: base, collected: { ...collected, commit, at: now.toISOString() } },
      collecting:
        commit === collected.commit ? null : { ref: collected.ref, old: collected.commit, new: commit },
    };
  });
  return { ...state, containers };
}

function isSkipped({ status, reason }: ContainerRecord): boolean {
  return status === "failed" && reason?.code === "DEPENDENCY_FAILED";
}

/** Retries failed workers and continues stopped ones; workers that were skipped because of any failure wait again. */
export function withRetried(state: SwarmState, names: readonly string[], how: Retrying): SwarmState {
  const containers = state.containers.map((record) => {
    const isNamed = names.includes(record.containerName);
    if (isSkipped(record) || (isNamed && record.status === "stopped"))
      return {
        ...movedTo(record, "pending", null, how.now),
        ...(isNamed && { paused: null }),
        ...withoutRetryCommand(record),
      };
    return isNamed && record.status === "failed" ? nextAttempt(state, record, how) : record;
  });
  return { ...state, containers };
}

/**
 * The record of a worker's next attempt: a container of its own, which starts from the collected commits and runs the
 * stories that are not completed, that are reopened, or whose commits never reached the host's repository.
 */
function nextAttempt(
  { project, swarmId }: Pick<SwarmState, "project" | "swarmId">,
  record: ContainerRecord,
  { lost, reopened, now }: Retrying,
): ContainerRecord {
  const attempt = record.attempt + 1;
  const stories = record.stories.map((story) =>
    story.status === "completed" &&
    !(story.commit !== null && lost.has(story.commit)) &&
    story.id !== reopened.get(record.containerName)
      ? story
      : { ...story, status: "pending" as const, commit: null, attempt, reason: null },
  );
  return {
    ...movedTo(record, "pending", null, now),
    containerName: workerContainerName({ projectId: project.id, swarmId, slug: workerSlug(record), attempt }),
    ...{ attempt, stories, storyProgress: progressOf(stories), lastSeq: 0 },
    ...{ containerId: null, creating: null, paused: null, collecting: null, acpPid: null, proof: null },
    ...(record.reason && { earlier: [...(record.earlier ?? []), endOfAttempt(record, now)].slice(-100) }),
    ...withoutRetryCommand(record),
  };
}

function endOfAttempt({ attempt, reason, finishedAt }: ContainerRecord, now: Date): EarlierAttempt {
  const { code = "", message = "" } = reason ?? {};
  return { attempt, code, message: cleanText(message, 500), at: finishedAt ?? now.toISOString() };
}

/** Clears the command `retry`, which the new attempt fulfils; any other command stays. */
const withoutRetryCommand = ({ wish }: ContainerRecord): Pick<ContainerRecord, "wish"> => ({
  wish: wish === "retry" ? null : wish,
});
