import { chooseWorkers } from "./choose-workers.ts";
import type { KeptEvent } from "./generated/event.ts";
import { workerSlug } from "./slug.ts";
import type { SwarmState } from "./swarm-state.ts";

export interface EventChoice {
  /** As people name workers; null for all, and for what is the whole swarm's. */
  readonly worker: string | null;
  /** A swarm's id or its beginning, or `all`; null for the present one. */
  readonly swarm: string | null;
  /** Only what agents did outside: calls of models, or everything else. Null for all events. */
  readonly kind: EventKind | null;
}

export const eventKinds = ["model", "egress"] as const;
export type EventKind = (typeof eventKinds)[number];

/**
 * Whether an event is wanted. Without the name of a swarm it is one of the present swarm, or of any that begins after `now`;
 * where there is none, of any.
 */
export function eventFilter(
  state: SwarmState | null,
  { worker, swarm, kind }: EventChoice,
  now: Date,
): (event: KeptEvent) => boolean {
  const isPresent = state !== null && (swarm === null || state.swarmId.startsWith(swarm));
  // Workers of other swarms are known by their events alone.
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
