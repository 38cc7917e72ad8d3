// Made from schemas/event.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * A line of `.aimi/events.ndjson`: what the owner of a swarm decided or did. Which facts there are depends on the event.
 */
export interface KeptEvent {
  readonly at: string;
  /**
   * null before the swarm had one.
   */
  readonly swarmId: string | null;
  readonly event: string;
  /**
   * Absent where it is the whole swarm's.
   */
  readonly worker?: string;
  /**
   * Some facts were too long to be kept whole.
   */
  readonly isCut?: boolean;
  [k: string]: unknown;
}
