import type { SourceLocation } from "../text/source-location.ts";

/** A validated document from a file, with the line and column of each value for error messages. */
export interface LocatedDocument<Document> {
  readonly document: Document;
  readonly locationOf: (pointer: string) => SourceLocation;
}
