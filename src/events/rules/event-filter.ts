import type { KeptEvent } from "../../contract/event.ts";
import { findWorkersByArguments } from "../../state/rules/choose-workers.ts";
import type { SwarmState } from "../../state/rules/swarm-state.ts";
import { workerSlug } from "../../text/slugs.ts";

export interface EventSelection {
  /**
   * The user's argument that names a worker. Null selects the events of all workers and of the swarm itself.
   */
  readonly worker: string | null;
  /** The ID of a swarm, the beginning of an ID, or `all`. Null selects the current swarm. */
  readonly swarm: string | null;
  /**
   * `model` selects events about model calls, `egress` selects events about a sandbox's other network
   * requests. Null selects all events.
   */
  readonly kind: EventKind | null;
}

export const eventKinds = ["model", "egress"] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * Returns a function that tells whether an event matches the selection. If the selection names no swarm, the
 * function selects the current swarm's events, and all events after `now`. If there is also no current
 * swarm, it selects the events of all swarms.
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
