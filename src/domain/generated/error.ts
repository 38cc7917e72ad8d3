// Made from schemas/error.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * An error as every surface shows it, under `error`.
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
