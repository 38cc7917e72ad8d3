import type { EngineWorktreeScope } from "../engine/engine.ts";
import { isError } from "../errors/errors.ts";
import type { Lock } from "../machine/locks/lock.ts";
import type { Project } from "../project/project.ts";
import { acquireSwarmOwnership } from "../state/acquire-ownership.ts";
import {
  type CheckedState,
  type CheckStateDeps,
  compareStateWithEngine,
} from "../state/compare-state-with-engine.ts";
import { findSwarmState, type StateAccess, stateCheckDeps, worktreeScope } from "../state/find-state.ts";
import { applyRecordCorrections } from "../state/rules/apply-correction.ts";
import type { RecordCorrection } from "../state/rules/reconcile-records.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { engineNeed, type SwarmStatus } from "../state/rules/swarm-status.ts";
import type { StateStore } from "../state/state-store.ts";

/**
 * Compares the recorded swarm of this worktree with the containers in the engine. Corrects the records if no
 * owner runs. Returns null if no swarm is recorded.
 */
export async function findSwarmStatus(
  project: StateAccess & Pick<Project, "host">,
): Promise<SwarmStatus | null> {
  if ((await findSwarmState(project)) === null) return null;
  const [deps, owner] = [await stateCheckDeps(project), await project.state.owner()];
  return readSwarmStatus(
    {
      ...deps,
      store: await project.state.store(),
      owner,
      hold: () => acquireSwarmOwnership(owner),
      clock: project.host.clock,
    },
    () => worktreeScope(project),
  );
}

/** The recorded state of a swarm, and the process that owns the swarm. */
export type RecordedStatus = Pick<SwarmStatus, "swarm" | "owner">;

/**
 * Returns the recorded state and the owner, without a comparison with the engine's containers. Returns null
 * if no swarm is recorded.
 */
export async function readRecordedStatus(project: StateAccess): Promise<RecordedStatus | null> {
  const swarm = await findSwarmState(project);
  return swarm && { swarm, owner: await (await project.state.owner()).holder() };
}

export interface SwarmStatusDeps extends CheckStateDeps {
  readonly store: Pick<StateStore, "find" | "update">;
  readonly owner: Pick<Lock, "holder">;
  /**
   * Makes this process the owner of the swarm until the caller disposes of the returned object. Throws
   * OWNED_BY_ANOTHER if another process owns the swarm.
   */
  readonly hold: () => Promise<AsyncDisposable>;
  readonly clock: () => Date;
}

/**
 * The maximum number of times that swarm compares the records with the engine's containers and corrects the
 * records. The first round may add a record for a container, the second may correct this record, and the
 * third confirms the result.
 */
const maxRounds = 3;

/**
 * Compares the swarm's records with the engine's containers, and returns the status of the swarm. If no
 * process owns the swarm, also corrects the records. Corrections for which work must be collected first are
 * only reported.
 */
export async function readSwarmStatus(
  deps: SwarmStatusDeps,
  scopeOf: () => Promise<EngineWorktreeScope>,
): Promise<SwarmStatus | null> {
  const known = await deps.store.find();
  if (known && engineNeed(known) === "none") {
    const owner = await deps.owner.holder();
    return { swarm: known, reconciled: true, corrections: [], orphans: [], owner };
  }
  /**
   * Ignores ENGINE_CHANGED if every worker is completed or has no container yet, because then no container on
   * the engine can contradict the records.
   */
  const unlessSettled = (error: unknown): CheckedState => {
    const isSettled = known !== null && engineNeed(known) === "optional";
    if (!isSettled || !isError(error, "ENGINE_CHANGED")) throw error;
    return { state: known, reconciled: false, corrections: [], orphans: [] };
  };
  const scope = await scopeOf();
  const { state, reconciled, corrections, orphans } = await compareStateWithEngine(deps, scope).catch(
    unlessSettled,
  );
  if (!state) return null;
  const owner = await deps.owner.holder();
  const shown: SwarmStatus = {
    swarm: state,
    // The status counts as reconciled if no engine could contradict the records, even if the engine does not
    // answer.
    reconciled: reconciled || engineNeed(state) !== "required",
    corrections: corrections.map((correction) => ({ ...correction, applied: false })),
    orphans: orphans.map(({ name }) => name),
    owner,
  };
  if (owner !== null || !mayCorrect(state, corrections, deps.clock())) return shown;
  try {
    await using _held = await deps.hold();
    return await correct(deps, scope, shown);
  } catch (error) {
    if (!isError(error, "OWNED_BY_ANOTHER")) throw error;
    // Another process has become the owner meanwhile. It corrects the records itself.
    return { ...shown, owner: await deps.owner.holder() };
  }
}

/**
 * Returns whether swarm may apply at least one of the corrections. If the state names no engine, swarm
 * applies none, because the recorded containers may lack swarm's labels.
 */
function mayCorrect(state: SwarmState, corrections: readonly RecordCorrection[], now: Date): boolean {
  return state.engine !== null && applyRecordCorrections(state, corrections, now).applied.length > 0;
}

/**
 * Acts as the owner of the swarm: compares the records with the engine's containers again, and applies the
 * corrections.
 */
async function correct(
  deps: SwarmStatusDeps,
  scope: EngineWorktreeScope,
  before: SwarmStatus,
): Promise<SwarmStatus> {
  const applied: RecordCorrection[] = [];
  let status = before;
  for (let round = 0; round < maxRounds; round += 1) {
    // Replaces the owner lock, because this process holds it and must not count as a running owner.
    const checked = await compareStateWithEngine({ ...deps, owner: { holder: async () => null } }, scope);
    if (!checked.reconciled || !checked.state) return status;
    const { state, done } = await apply(deps, checked.corrections);
    applied.push(...done);
    status = {
      swarm: state,
      reconciled: true,
      corrections: [
        ...applied.map((correction) => ({ ...correction, applied: true })),
        ...checked.corrections
          .filter((correction) => !done.includes(correction))
          .map((correction) => ({ ...correction, applied: false })),
      ],
      orphans: checked.orphans.map(({ name }) => name),
      owner: null,
    };
    if (done.length === 0) break;
  }
  return status;
}

/**
 * Applies corrections to the state in one write under the lock. Skips corrections of records that have
 * changed since the comparison.
 */
async function apply(
  { store, clock }: SwarmStatusDeps,
  corrections: readonly RecordCorrection[],
): Promise<{ readonly state: SwarmState; readonly done: readonly RecordCorrection[] }> {
  let done: readonly RecordCorrection[] = [];
  const state = await store.update((before) => {
    const corrected = applyRecordCorrections(before, corrections, clock());
    done = corrected.applied;
    return corrected.state;
  });
  return { state, done };
}
