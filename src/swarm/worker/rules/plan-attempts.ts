import type { ContainerRecord, EarlierAttempt, Reason, SwarmState } from "../../../contract/swarm-state.ts";
import { recordWithStatus } from "../../../state/rules/swarm-state.ts";
import { workerContainerName } from "../../../state/rules/worker-container-name.ts";
import { countStoryProgress } from "../../../state/rules/worker-record.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";

interface Retrying {
  /**
   * The hashes of commits that the state names as stories' results, but that the host's repository does not
   * contain.
   */
  readonly lost: ReadonlySet<string>;
  /** The ID of the completed story that the agent must rework, by the worker's container name. */
  readonly reopened: ReadonlyMap<string, string>;
  readonly now: Date;
}

/** What swarm needs to plan the rework of a story whose result could not be merged. */
export interface ReworkFacts {
  readonly reason: Reason;
  readonly storyId: string;
  /** The commit that merges the worker's result with `base`. The worker's git ref moves to this commit. */
  readonly commit: string;
  readonly base: string;
  readonly now: Date;
}

/**
 * Plans another attempt for each worker in `startByName`, in which the agent reworks the worker's result.
 * The attempt starts from a merge of the result with the base commit. Workers that were skipped because a
 * dependency failed become `pending` again.
 */
export function planReworkAttempts(
  state: SwarmState,
  startByName: ReadonlyMap<string, ReworkFacts>,
): SwarmState {
  const containers = state.containers.map((record) => {
    const start = startByName.get(record.containerName);
    if (isSkipped(record) && startByName.size > 0) {
      const [first] = startByName.values();
      return first ? recordWithStatus(record, "pending", null, first.now) : record;
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
      ...next,
      baseCommit: base,
      collected: { ...collected, commit, at: now.toISOString() },
      collecting:
        commit === collected.commit ? null : { ref: collected.ref, old: collected.commit, new: commit },
    };
  });
  return { ...state, containers };
}

function isSkipped({ status, reason }: ContainerRecord): boolean {
  return status === "failed" && reason?.code === "DEPENDENCY_FAILED";
}

/**
 * Plans another attempt for the failed workers among `names`, and sets the stopped ones to `pending`. Also
 * sets all workers to `pending` that were skipped because a dependency failed.
 */
export function planRetryAttempts(state: SwarmState, names: readonly string[], how: Retrying): SwarmState {
  const containers = state.containers.map((record) => {
    const isNamed = names.includes(record.containerName);
    if (isSkipped(record) || (isNamed && record.status === "stopped"))
      return {
        ...recordWithStatus(record, "pending", null, how.now),
        ...(isNamed && { paused: null }),
        ...withoutRetryCommand(record),
      };
    return isNamed && record.status === "failed" ? nextAttempt(state, record, how) : record;
  });
  return { ...state, containers };
}

/**
 * Returns the record of a worker's next attempt, which has a new container and starts from the commits of
 * earlier attempts. A completed story runs again only if the agent must rework it, or if its commit is
 * missing from the host's repository.
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
    ...recordWithStatus(record, "pending", null, now),
    containerName: workerContainerName({ projectId: project.id, swarmId, slug: workerSlug(record), attempt }),
    attempt,
    stories,
    storyProgress: countStoryProgress(stories),
    lastSeq: 0,
    containerId: null,
    creating: null,
    paused: null,
    collecting: null,
    acpPid: null,
    proof: null,
    ...(record.reason && { earlier: [...(record.earlier ?? []), endOfAttempt(record, now)].slice(-100) }),
    ...withoutRetryCommand(record),
  };
}

function endOfAttempt({ attempt, reason, finishedAt }: ContainerRecord, now: Date): EarlierAttempt {
  const { code = "", message = "" } = reason ?? {};
  return { attempt, code, message: sanitizeText(message, 500), at: finishedAt ?? now.toISOString() };
}

/**
 * Removes the user's command `retry` from a worker's record, because the new attempt carries out this
 * command. Any other command stays in the record.
 */
const withoutRetryCommand = ({ wish }: ContainerRecord): Pick<ContainerRecord, "wish"> => ({
  wish: wish === "retry" ? null : wish,
});
