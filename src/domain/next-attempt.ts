import { cleanText } from "./clean-text.ts";
import type { ContainerRecord, EarlierAttempt, Reason, SwarmState } from "./generated/swarm-state.ts";
import { workerSlug } from "./slug.ts";
import { movedTo } from "./swarm-state.ts";
import { workerContainerName } from "./worker-names.ts";
import { progressOf } from "./worker-record.ts";

interface Retrying {
  /** Commits of stories that never came here. */
  readonly lost: ReadonlySet<string>;
  /** Of workers whose stories are completed, the one that is to be done again. */
  readonly reopened: ReadonlyMap<string, string>;
  readonly now: Date;
}

/** What a worker goes on from that goes back to its agent. */
export interface TakingUp {
  readonly reason: Reason;
  readonly storyId: string;
  /** What it made, merged with `base`, and the ref that keeps that. */
  readonly commit: string;
  readonly base: string;
  readonly now: Date;
}

/** Workers whose results were set aside go on from them and from what they are to be merged with; what waits for them waits again. */
export function withTakenUp(state: SwarmState, taking: ReadonlyMap<string, TakingUp>): SwarmState {
  const containers = state.containers.map((record) => {
    const took = taking.get(record.containerName);
    if (isSkipped(record) && taking.size > 0) {
      const [first] = taking.values();
      return first ? movedTo(record, "pending", null, first.now) : record;
    }
    if (!took || record.collected === null) return record;
    const { reason, storyId, commit, base, now } = took;
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

/** Failed workers are tried again, and those that were skipped because of any failure wait once more; stopped ones go on. */
export function withRetried(state: SwarmState, names: readonly string[], how: Retrying): SwarmState {
  const containers = state.containers.map((record) => {
    const isNamed = names.includes(record.containerName);
    if (isSkipped(record) || (isNamed && record.status === "stopped"))
      return {
        ...movedTo(record, "pending", null, how.now),
        ...(isNamed && { paused: null }),
        ...granted(record),
      };
    return isNamed && record.status === "failed" ? nextAttempt(state, record, how) : record;
  });
  return { ...state, containers };
}

/**
 * The record of a worker's next attempt: a container of its own, which begins with what is collected and has the stories
 * before it that are not completed, or whose commits never came here.
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
    ...granted(record),
  };
}

function endOfAttempt({ attempt, reason, finishedAt }: ContainerRecord, now: Date): EarlierAttempt {
  const { code = "", message = "" } = reason ?? {};
  return { attempt, code, message: cleanText(message, 500), at: finishedAt ?? now.toISOString() };
}

/** Whatever else is wished of it is still to be done. */
const granted = ({ wish }: ContainerRecord): Pick<ContainerRecord, "wish"> => ({
  wish: wish === "retry" ? null : wish,
});
