// Made from schemas/cleanup.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Kind = "container" | "volume" | "files" | "image" | "engine" | "state-folder";
/**
 * As people name it; null for what is no worker's.
 */
export type Worker = string | null;
export type SwarmId = string | null;

/**
 * What `swarm cleanup --json` prints.
 */
export interface CleanupDocument {
  /**
   * Whether nothing was changed.
   */
  readonly dryRun: boolean;
  /**
   * In this order; with `dryRun`, what would be.
   */
  readonly removed: readonly RemovedThing[];
  /**
   * What is left where it is, and why.
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
