// Made from schemas/cleanup.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Kind = "container" | "volume" | "files" | "image" | "engine" | "state-folder";
/**
 * The worker's short name; null for a thing of no worker.
 */
export type Worker = string | null;
export type SwarmId = string | null;

/**
 * The document that `swarm cleanup --json` prints.
 */
export interface CleanupDocument {
  /**
   * Whether nothing was changed.
   */
  readonly dryRun: boolean;
  /**
   * The removed things, in this order; with `dryRun`, those that would be removed.
   */
  readonly removed: readonly RemovedThing[];
  /**
   * The kept things, and the reasons.
   */
  readonly kept: readonly KeptThing[];
}
export interface RemovedThing {
  readonly kind: Kind;
  readonly name: string;
  readonly worker: Worker;
  readonly swarmId: SwarmId;
}
export interface KeptThing {
  readonly kind: Kind;
  readonly name: string;
  readonly worker: Worker;
  readonly swarmId: SwarmId;
  readonly why: string;
}
