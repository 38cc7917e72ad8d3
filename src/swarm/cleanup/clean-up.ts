import type { KeptThing, RemovedThing } from "../../contract/cleanup.ts";
import { type ContainerEngine, type EngineWorktreeScope, labels } from "../../engine/engine.ts";
import { removeWithoutTimeout } from "../../engine/remove-without-timeout.ts";
import { SwarmError } from "../../errors/errors.ts";
import { workerNetworkName } from "../../gateway/rules/gateway-names.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { JournalSummary } from "../../protocol/host-journal.ts";
import { refuseOtherEngine } from "../../state/compare-state-with-engine.ts";
import { requireRecord, type SwarmState, stateWithReplacedRecord } from "../../state/rules/swarm-state.ts";
import type { StateStore } from "../../state/state-store.ts";
import {
  type AttemptCommitsAvailability,
  type AttemptWithLeftovers,
  type CleanupPlan,
  type EngineResource,
  findAttemptsWithLeftovers,
  type Leftover,
  planCleanup,
  recordWithDiscardedContainer,
} from "./rules/plan-cleanup.ts";
import type { SwarmFiles } from "./swarm-files.ts";

export interface CleanUpDeps {
  readonly store: Pick<StateStore, "update">;
  /**
   * The engine from which to remove containers and volumes. Null if it is certain that the swarm has nothing
   * on any engine.
   */
  readonly engine: ContainerEngine | null;
  readonly readAttempt: (attempt: AttemptWithLeftovers) => Promise<JournalSummary | null>;
  readonly work: Pick<WorkRepository, "isReferenced">;
  readonly files: SwarmFiles;
  readonly clock: () => Date;
}

export interface CleanUpRequest {
  readonly state: SwarmState | null;
  readonly scope: EngineWorktreeScope;
  /**
   * The container names of the workers to clean up; null to clean up everything that belongs to the worktree.
   */
  readonly only: readonly string[] | null;
  readonly discard: boolean;
  /**
   * Whether to also remove the local files of each earlier swarm that has no container or volume left on the
   * engine.
   */
  readonly withFiles: boolean;
  readonly dryRun: boolean;
}

export interface CleanUpResult {
  readonly removed: readonly RemovedThing[];
  readonly kept: readonly KeptThing[];
  /**
   * The first error that the engine returned; null if there was none. The containers and volumes that the
   * engine failed to remove are in `kept`.
   */
  readonly failure: SwarmError | null;
}

/**
 * Removes the containers and volumes that this worktree's swarms left on the engine, except those with work
 * that exists nowhere else; with `discard`, removes these, too. Without `dryRun`, only the owner may call it.
 * After a crash, a second call finishes the cleanup.
 */
export async function cleanUpContainersAndVolumes(
  deps: CleanUpDeps,
  request: CleanUpRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<CleanUpResult> {
  const { state, scope, dryRun } = request;
  if (deps.engine && state) await refuseOtherEngine(state, deps.engine);
  const resources = deps.engine ? await resourcesOn(deps.engine, scope) : [];
  const locations = await locationsOf(deps, findAttemptsWithLeftovers(state, resources));
  const plan = planCleanup({
    state,
    resources,
    discard: request.discard,
    only: request.only,
    locationOf: (attempt) =>
      locations.get(keyOf(attempt)) ?? { kind: "elsewhere", why: "the worker's journal was not read" },
  });
  const done = dryRun ? { ...plan, failure: null } : await executePlan(deps, plan, onStep, signal);
  const unfinished =
    deps.engine && !dryRun && request.only === null
      ? await removeIdleNetworks(deps.engine, scope, done.keep, signal)
      : null;
  const files = request.withFiles ? await oldFiles(deps, state, done.keep) : [];
  for (const { swarmId } of files) {
    if (swarmId === null || dryRun) continue;
    onStep(`Removing the files of swarm ${swarmId}`);
    await deps.files.remove(swarmId);
  }
  return { removed: [...done.remove, ...files], kept: done.keep, failure: done.failure ?? unfinished };
}

async function resourcesOn(engine: ContainerEngine, scope: EngineWorktreeScope): Promise<EngineResource[]> {
  const [containers, volumes] = [await engine.listContainers(scope), await engine.volumes(scope)];
  return [
    ...containers.map((container) => toResource("container", container)),
    ...volumes.map((volume) => toResource("volume", volume)),
  ];
}

/**
 * Describes a container or a volume by its labels. Ignores label values that do not have the expected form,
 * because any user of the engine can set labels.
 */
function toResource(
  kind: EngineResource["kind"],
  { name, labels: found }: { readonly name: string; readonly labels: Readonly<Record<string, string>> },
): EngineResource {
  const swarmId = found[labels.swarm] ?? "";
  const attempt = Number(found[labels.attempt]);
  return {
    kind,
    name,
    swarmId: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(swarmId) ? swarmId : null,
    taskFile: found[labels.taskFile] ?? null,
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : null,
    isOfGateway: found[labels.role] === "gateway",
    isOfCheck: found[labels.role] === "check",
  };
}

const keyOf = ({ swarmId, slug, attempt }: AttemptWithLeftovers): string => `${swarmId}/${slug}/${attempt}`;

async function locationsOf(
  deps: CleanUpDeps,
  attempts: readonly AttemptWithLeftovers[],
): Promise<ReadonlyMap<string, AttemptCommitsAvailability>> {
  const locations = new Map<string, AttemptCommitsAvailability>();
  for (const attempt of attempts) locations.set(keyOf(attempt), await locationOf(deps, attempt));
  return locations;
}

async function locationOf(
  { readAttempt, work }: CleanUpDeps,
  attempt: AttemptWithLeftovers,
): Promise<AttemptCommitsAvailability> {
  const journal = await readAttempt(attempt);
  if (!journal) return elsewhere("this repository has no journal of the worker's attempt");
  if (!journal.isWhole) return elsewhere("the journal of the worker's attempt ends before the final message");
  const { completion, lastCheckpoint, failedWork } = journal;
  if (attempt.status !== null && (completion ?? "failed") !== attempt.status)
    return elsewhere(`the worker's journal does not confirm that the attempt ${attempt.status}`);
  for (const commit of [...(lastCheckpoint === null ? [] : [lastCheckpoint]), ...failedWork])
    if (!(await work.isReferenced(commit)))
      return elsewhere(`the worker's commit ${commit.slice(0, 10)} is not in this repository`);
  return { kind: "here" };
}

function elsewhere(why: string): AttemptCommitsAvailability {
  return { kind: "elsewhere", why };
}

async function executePlan(
  { store, engine, clock }: CleanUpDeps,
  { remove, keep, discarded }: CleanupPlan,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<CleanupPlan & { readonly failure: SwarmError | null }> {
  // Records the discarded workers before it removes their containers, so that a crash in between does no
  // harm.
  if (discarded.length > 0)
    await store.update((before) =>
      discarded.reduce(
        (state, name) =>
          stateWithReplacedRecord(state, recordWithDiscardedContainer(requireRecord(state, name), clock())),
        before,
      ),
    );
  const removed: Leftover[] = [];
  const kept = [...keep];
  let failure: SwarmError | null = null;
  for (const leftover of remove) {
    signal.throwIfAborted();
    onStep(`Removing the ${leftover.kind} ${leftover.name}`);
    try {
      const { containers, volumes, networks } = await (engine as ContainerEngine).open();
      const things = leftover.kind === "container" ? containers : volumes;
      const onSlow = (why: string): void => onStep(`Removing the ${leftover.kind} ${leftover.name}: ${why}`);
      await removeWithoutTimeout((until) => things.remove(leftover.name, until), { onSlow }, signal);
      if (leftover.kind === "container") await networks.remove(workerNetworkName(leftover.name));
      removed.push(leftover);
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      failure ??= error;
      kept.push({ ...leftover, why: error.message });
    }
  }
  return { remove: removed, keep: kept, discarded, failure };
}

/**
 * Removes the networks of workers whose containers no longer exist. Returns the engine's error, or null if
 * there was none.
 */
async function removeIdleNetworks(
  engine: ContainerEngine,
  { projectId, worktree }: EngineWorktreeScope,
  kept: readonly Leftover[],
  signal: AbortSignal,
): Promise<SwarmError | null> {
  const { networks } = await engine.open();
  const marks = { [labels.sandbox]: "true", [labels.project]: projectId, [labels.worktree]: worktree };
  const needed = new Set(kept.map(({ name }) => workerNetworkName(name)));
  try {
    for (const name of await networks.list(marks, signal)) if (!needed.has(name)) await networks.remove(name);
    return null;
  } catch (error) {
    if (!(error instanceof SwarmError)) throw error;
    return error;
  }
}

/** Finds the local files of the earlier swarms that have no container or volume left on the engine. */
async function oldFiles(
  { files }: CleanUpDeps,
  state: SwarmState | null,
  kept: readonly Leftover[],
): Promise<RemovedThing[]> {
  const needed = new Set([state?.swarmId, ...kept.map(({ swarmId }) => swarmId)]);
  return (await files.list())
    .filter((swarmId) => !needed.has(swarmId))
    .map((swarmId) => ({ kind: "files", name: `.aimi/swarms/${swarmId}`, worker: null, swarmId }));
}
