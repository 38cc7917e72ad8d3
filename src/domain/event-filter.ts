import { chooseWorkers } from "./choose-workers.ts";
import type { KeptEvent } from "./generated/event.ts";
import { workerSlug } from "./slug.ts";
import type { SwarmState } from "./swarm-state.ts";

export interface EventChoice {
  /** A worker as users name it; null for all workers and for events of the whole swarm. */
  readonly worker: string | null;
  /** A swarm's id, a prefix of it, or `all`; null for the current swarm. */
  readonly swarm: string | null;
  /** Only requests that left a sandbox: model calls, or all others. Null for all events. */
  readonly kind: EventKind | null;
}

export const eventKinds = ["model", "egress"] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * Matches the chosen events. If the choice names no swarm, these are events of the current swarm and of any that begins
 * after `now`; without a current swarm, those of any swarm.
 */
export function eventFilter(
  state: SwarmState | null,
  { worker, swarm, kind }: EventChoice,
  now: Date,
): (event: KeptEvent) => boolean {
  const isPresent = state !== null && (swarm === null || state.swarmId.startsWith(swarm));
  // Workers of other swarms are known only from their events.
  const slugs =
    worker === null
      ? null
      : new Set(isPresent && swarm !== "all" ? chooseWorkers(state, [worker]).map(workerSlug) : [worker]);
  const since = now.toISOString();
  return (event) => {
    if (kind !== null && event["kind"] !== kind) return false;
    if (slugs !== null && (event.worker === undefined || !slugs.has(event.worker))) return false;
    if (swarm === "all" || (swarm === null && state === null)) return true;
    if (swarm !== null) return event.swarmId?.startsWith(swarm) ?? false;
    return event.swarmId === state?.swarmId || event.at >= since;
  };
}
