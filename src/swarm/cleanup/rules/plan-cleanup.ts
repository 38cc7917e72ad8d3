import type { ContainerRecord, SwarmState } from "../../../contract/swarm-state.ts";
import { isTerminalStatus } from "../../../state/rules/container-status.ts";
import { adapterReportedStatus } from "../../../state/rules/reported-status.ts";
import { recordWithStatus } from "../../../state/rules/swarm-state.ts";
import { homeVolumeName } from "../../../state/rules/worker-container-name.ts";
import { workerSlug } from "../../../text/slugs.ts";

/** A container or volume that the engine lists for this worktree. Its labels are untrusted. */
export interface EngineResource {
  readonly kind: "container" | "volume";
  readonly name: string;
  readonly swarmId: string | null;
  readonly taskFile: string | null;
  readonly attempt: number | null;
  /** Whether the resource belongs to a swarm's gateway, which all workers of the swarm share. */
  readonly isOfGateway?: boolean;
  /**
   * Whether swarm made the resource to check results in a fresh sandbox. Such a resource holds no worker's
   * work.
   */
  readonly isOfCheck?: boolean;
}

/** A worker's attempt that left a container or volume on the engine. */
export interface AttemptWithLeftovers {
  readonly swarmId: string;
  readonly slug: string;
  readonly attempt: number;
  /** The attempt's final status; null if the state file has no final status of this attempt. */
  readonly status: "completed" | "failed" | null;
}

/**
 * Whether the host's repository has all commits of the worker's attempt. If not, `why` says what is missing.
 */
export type AttemptCommitsAvailability =
  | { readonly kind: "here" }
  | { readonly kind: "elsewhere"; readonly why: string };

export interface Leftover {
  readonly kind: EngineResource["kind"];
  readonly name: string;
  /** The worker's slug; null if neither the state file nor a label of the resource identifies the worker. */
  readonly worker: string | null;
  readonly swarmId: string | null;
}

export interface KeptLeftover extends Leftover {
  readonly why: string;
}

export interface CleanupPlan {
  /**
   * The resources to remove, in this order: containers, volumes, and at last the volumes with agents'
   * conversations.
   */
  readonly remove: readonly Leftover[];
  readonly keep: readonly KeptLeftover[];
  /** The container names of the workers whose work is lost when swarm carries out this plan. */
  readonly discarded: readonly string[];
}

export interface CleanupInput {
  readonly state: SwarmState | null;
  readonly resources: readonly EngineResource[];
  readonly locationOf: (attempt: AttemptWithLeftovers) => AttemptCommitsAvailability;
  /** Whether to remove containers and volumes even if they hold the only copy of a worker's work. */
  readonly discard: boolean;
  /**
   * The container names of the workers to clean up; null to clean up all of the worktree's containers and
   * volumes.
   */
  readonly only: readonly string[] | null;
}

/**
 * Decides which containers and volumes to remove and which to keep. Keeps the only copy of a worker's work,
 * unless `discard` is set.
 */
export function planCleanup({ state, resources, locationOf, discard, only }: CleanupInput): CleanupPlan {
  const workers = workersIn(state, resources).filter(
    ({ record }) => only === null || (record !== null && only.includes(record.containerName)),
  );
  const judged = [
    ...workers.flatMap((worker) => judgeWorker(worker, locationOf)),
    ...(only === null ? [...judgeGateways(state, resources), ...judgeChecks(resources)] : []),
  ];
  const gone = judged.filter(({ why }) => discard || why === null);
  return {
    remove: gone.toSorted((one, other) => one.rank - other.rank).map(({ leftover }) => leftover),
    keep: judged.flatMap(({ leftover, why }) => (discard || why === null ? [] : [{ ...leftover, why }])),
    discarded: workers.flatMap(({ record }) => {
      const isGivenUp = judged.some((resource) => resource.record === record && resource.why !== null);
      return discard && isGivenUp && record !== null && record.containerId !== null
        ? [record.containerName]
        : [];
    }),
  };
}

/**
 * Returns the attempts about which `planCleanup` may call `locationOf`. Before that, the caller must find out
 * where the commits of these attempts are.
 */
export function findAttemptsWithLeftovers(
  state: SwarmState | null,
  resources: readonly EngineResource[],
): AttemptWithLeftovers[] {
  const byKey = new Map<string, AttemptWithLeftovers>();
  for (const worker of workersIn(state, resources))
    for (const resource of worker.resources) {
      const attempt = attemptOf(worker, resource);
      if (attempt) byKey.set(JSON.stringify(attempt), attempt);
    }
  return [...byKey.values()];
}

/**
 * Changes a worker's record after its container and volumes were discarded. The user can then retry the
 * worker, but not resume it.
 */
export function recordWithDiscardedContainer(record: ContainerRecord, now: Date): ContainerRecord {
  const message = "`swarm cleanup` discarded the worker's container and volumes";
  const ended = isTerminalStatus(record.status)
    ? record
    : recordWithStatus(record, "failed", { code: "CONTAINER_LOST", message }, now);
  return {
    ...ended,
    containerId: null,
    creating: null,
    paused: null,
    acpPid: null,
    updatedAt: now.toISOString(),
  };
}

/** A worker, and the containers and volumes that remain of all its attempts. */
interface LeftWorker {
  readonly swarmId: string | null;
  readonly taskFile: string | null;
  readonly record: ContainerRecord | null;
  readonly resources: readonly EngineResource[];
}

function workersIn(state: SwarmState | null, resources: readonly EngineResource[]): LeftWorker[] {
  const own = resources.filter(({ isOfGateway, isOfCheck }) => !isOfGateway && !isOfCheck);
  const groups = Map.groupBy(own, ({ swarmId, taskFile }) => JSON.stringify([swarmId, taskFile]));
  return [...groups.values()].map((group) => {
    const { swarmId = null, taskFile = null } = group[0] ?? {};
    const isOurs = state !== null && swarmId === state.swarmId;
    const record = isOurs ? state.containers.find(({ taskFilePath }) => taskFilePath === taskFile) : null;
    return { swarmId, taskFile, record: record ?? null, resources: group };
  });
}

interface Judged {
  readonly leftover: Leftover;
  readonly record: ContainerRecord | null;
  /** The reason to keep the resource; null if swarm can remove it. */
  readonly why: string | null;
  readonly rank: number;
}

/**
 * Decides which resources of gateways to remove. Keeps a gateway as long as a worker of its swarm has not
 * finished.
 */
function judgeGateways(state: SwarmState | null, resources: readonly EngineResource[]): Judged[] {
  return resources
    .filter(({ isOfGateway }) => isOfGateway)
    .map(({ kind, name, swarmId }) => {
      const isNeeded =
        state?.swarmId === swarmId && state?.containers.some(({ status }) => !isTerminalStatus(status));
      return {
        leftover: { kind, name, worker: null, swarmId },
        record: null,
        rank: kind === "container" ? 3 : 4,
        why: isNeeded ? "workers of this swarm are not finished" : null,
      };
    });
}

/**
 * Plans to remove all resources with which swarm checked results. Only a killed swarm process leaves such
 * resources behind.
 */
function judgeChecks(resources: readonly EngineResource[]): Judged[] {
  return resources
    .filter(({ isOfCheck }) => isOfCheck)
    .map(({ kind, name, swarmId }) => ({
      leftover: { kind, name, worker: null, swarmId },
      record: null,
      rank: kind === "container" ? 3 : 4,
      why: null,
    }));
}

function judgeWorker(worker: LeftWorker, locationOf: CleanupInput["locationOf"]): Judged[] {
  const isHome = (resource: EngineResource): boolean =>
    resource.kind === "volume" && homeOf(resource) !== null;
  const own = worker.resources
    .filter((resource) => !isHome(resource))
    .map((resource) => ({ resource, why: whyKept(worker, resource, locationOf) }));
  // A later attempt continues the agent's conversations. Their volumes stay until all other resources of the
  // worker can go.
  const unfinished = whyUnfinished(worker.record);
  const whyHome = unfinished ?? own.find(({ why }) => why !== null)?.why ?? null;
  const homes = worker.resources.filter(isHome).map((resource) => ({ resource, why: whyHome }));
  return [...own, ...homes].map(({ resource, why }, at) => ({
    leftover: {
      kind: resource.kind,
      name: resource.name,
      worker: slugIn(worker, resource),
      swarmId: worker.swarmId,
    },
    record: worker.record,
    why,
    rank: resource.kind === "container" ? 0 : at < own.length ? 1 : 2,
  }));
}

function whyKept(
  worker: LeftWorker,
  resource: EngineResource,
  locationOf: CleanupInput["locationOf"],
): string | null {
  const { record } = worker;
  const attempt = attemptOf(worker, resource);
  if (attempt === null) return "the labels of this resource do not identify a worker";
  if (record && attempt.attempt >= record.attempt) {
    const unfinished = whyUnfinished(record);
    if (unfinished !== null) return unfinished;
  }
  const place = locationOf(attempt);
  return place.kind === "here" ? null : place.why;
}

function whyUnfinished(record: ContainerRecord | null): string | null {
  if (record === null || isTerminalStatus(record.status)) return null;
  return `the worker is ${record.status} and has not finished`;
}

function attemptOf(worker: LeftWorker, resource: EngineResource): AttemptWithLeftovers | null {
  const { swarmId, record } = worker;
  const slug = slugIn(worker, resource);
  if (swarmId === null || slug === null || resource.attempt === null) return null;
  const isLast = record?.attempt === resource.attempt;
  const reported = isLast ? adapterReportedStatus(record) : null;
  const status = reported === "completed" || reported === "failed" ? reported : null;
  return { swarmId, slug, attempt: resource.attempt, status };
}

/**
 * Returns the worker's slug, which the file names of the worker's journals contain. The slug comes from the
 * worker's record, or else from the resource's name.
 */
function slugIn(worker: LeftWorker, resource: EngineResource): string | null {
  const { record, taskFile, swarmId } = worker;
  if (record) return workerSlug(record);
  if (taskFile === null || swarmId === null) return null;
  const containerName = homeOf(resource) ?? resource.name;
  const isNamed = /^aimi-[0-9a-f]{6}-([0-9a-f]{6})-[a-z0-9-]+(?:\.a\d+)?$/.exec(containerName);
  return isNamed?.[1] === swarmId.slice(0, 6) ? workerSlug({ containerName, taskFilePath: taskFile }) : null;
}

/**
 * If the resource is a volume with an agent's conversations, returns the name of the agent's container; null
 * for any other resource.
 */
function homeOf({ name }: EngineResource): string | null {
  const suffix = homeVolumeName("");
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : null;
}
