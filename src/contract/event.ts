// Made from schemas/event.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * A line of `.aimi/events.ndjson`: a decision or action of a swarm's owner. Its further facts depend on the event.
 */
export interface KeptEvent {
  readonly at: string;
  /**
   * The swarm's id; null before the swarm has one.
   */
  readonly swarmId: string | null;
  readonly event: string;
  /**
   * The worker; absent for an event of the whole swarm.
   */
  readonly worker?: string;
  /**
   * Whether some facts were too long and were shortened.
   */
  readonly isCut?: boolean;
  [k: string]: unknown;
}
