import { findWorkersByArguments } from "./choose-workers.ts";
import type { KeptEvent } from "./generated/event.ts";
import { workerSlug } from "./slug.ts";
import type { SwarmState } from "./swarm-state.ts";

export interface EventSelection {
  /**
   * The argument with which the user chose a worker; null for the events of all workers and of the swarm
   * itself.
   */
  readonly worker: string | null;
  /** The id of a swarm, a prefix of an id, or `all`; null for the current swarm. */
  readonly swarm: string | null;
  /** `model` for events about model calls, `egress` for events about a sandbox's other requests; null for all events. */
  readonly kind: EventKind | null;
}

export const eventKinds = ["model", "egress"] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * Returns a function that tells whether an event matches the selection. If the selection has no swarm, events
 * of the current swarm match, and all events after `now`. Without a current swarm, the events of all swarms
 * match.
 */
export function createEventFilter(
  state: SwarmState | null,
  { worker, swarm, kind }: EventSelection,
  now: Date,
): (event: KeptEvent) => boolean {
  const isPresent = state !== null && (swarm === null || state.swarmId.startsWith(swarm));
  // The state has only the workers of the current swarm. For other swarms, the argument must be a full slug.
  const slugs =
    worker === null
      ? null
      : new Set(
          isPresent && swarm !== "all" ? findWorkersByArguments(state, [worker]).map(workerSlug) : [worker],
        );
  const since = now.toISOString();
  return (event) => {
    if (kind !== null && event["kind"] !== kind) return false;
    if (slugs !== null && (event.worker === undefined || !slugs.has(event.worker))) return false;
    if (swarm === "all" || (swarm === null && state === null)) return true;
    if (swarm !== null) return event.swarmId?.startsWith(swarm) ?? false;
    return event.swarmId === state?.swarmId || event.at >= since;
  };
}
