import { withCorrections } from "../domain/correct-record.ts";
import { isError } from "../domain/errors.ts";
import type { Correction } from "../domain/reconcile.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { engineNeed, type SwarmStatus } from "../domain/swarm-status.ts";
import type { EngineScope } from "../ports/engine.ts";
import type { Lock } from "../ports/lock.ts";
import type { StateStore } from "../ports/state-store.ts";
import { type CheckedState, type CheckStateDeps, checkState } from "./check-state.ts";

export interface SwarmStatusDeps extends CheckStateDeps {
  readonly store: Pick<StateStore, "find" | "update">;
  readonly owner: Pick<Lock, "holder">;
  /** Takes the ownership until it is disposed of; OWNED_BY_ANOTHER if there is an owner. */
  readonly hold: () => Promise<AsyncDisposable>;
  readonly clock: () => Date;
}

/** An adopted container is judged again and its record corrected once more, so the last round finds nothing to do. */
const maxRounds = 3;

/**
 * The status of the swarm: compares it with the engine and, without a living owner, corrects the records as far as that
 * needs no collection of work. Beside a living owner it writes nothing.
 */
export async function readSwarmStatus(
  deps: SwarmStatusDeps,
  scopeOf: () => Promise<EngineScope>,
): Promise<SwarmStatus | null> {
  const known = await deps.store.find();
  if (known && engineNeed(known) === "none") {
    const owner = await deps.owner.holder();
    return { swarm: known, reconciled: true, corrections: [], orphans: [], owner };
  }
  /** Ignores ENGINE_CHANGED for a settled swarm: another engine cannot contradict its records. */
  const unlessSettled = (error: unknown): CheckedState => {
    const isSettled = known !== null && engineNeed(known) === "optional";
    if (!isSettled || !isError(error, "ENGINE_CHANGED")) throw error;
    return { state: known, reconciled: false, corrections: [], orphans: [] };
  };
  const scope = await scopeOf();
  const { state, reconciled, corrections, orphans } = await checkState(deps, scope).catch(unlessSettled);
  if (!state) return null;
  const owner = await deps.owner.holder();
  const shown: SwarmStatus = {
    swarm: state,
    // If no engine could contradict the records, an unreachable one leaves no doubt.
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
    // Another process has become the owner meanwhile, and corrects the records itself.
    return { ...shown, owner: await deps.owner.holder() };
  }
}

/** Whether there are corrections to apply. A state without an engine may have containers without swarm's labels. */
function mayCorrect(state: SwarmState, corrections: readonly Correction[], now: Date): boolean {
  return state.engine !== null && withCorrections(state, corrections, now).applied.length > 0;
}

/** Compares again, now as the owner, and applies the corrections. */
async function correct(deps: SwarmStatusDeps, scope: EngineScope, before: SwarmStatus): Promise<SwarmStatus> {
  const applied: Correction[] = [];
  let status = before;
  for (let round = 0; round < maxRounds; round += 1) {
    // This process is the owner.
    const checked = await checkState({ ...deps, owner: { holder: async () => null } }, scope);
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

/** Applies corrections under the state lock, only to records that have not changed since. */
async function apply(
  { store, clock }: SwarmStatusDeps,
  corrections: readonly Correction[],
): Promise<{ readonly state: SwarmState; readonly done: readonly Correction[] }> {
  let done: readonly Correction[] = [];
  const state = await store.update((before) => {
    const corrected = withCorrections(before, corrections, clock());
    done = corrected.applied;
    return corrected.state;
  });
  return { state, done };
}
