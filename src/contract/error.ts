// Made from schemas/error.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * An error, under `error`, the same on every surface.
 */
export interface ErrorDocument {
  readonly error: ErrorBody;
}
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
}
