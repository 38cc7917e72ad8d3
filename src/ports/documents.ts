import type { SwarmState } from "../domain/generated/swarm-state.ts";
import type { TaskFile } from "../domain/generated/tasks.ts";
import type { SourceLocation } from "../domain/place.ts";
import type { SettingsFile } from "../domain/settings.ts";

/** A validated document from outside the program, with the positions of its values for error messages. */
export interface LocatedDocument<Document> {
  readonly document: Document;
  readonly locationOf: (pointer: string) => SourceLocation;
}

/**
 * Parsers of all files that users or earlier runs of swarm wrote. They validate: a result really has its
 * declared type.
 */
export interface DocumentParsers {
  parseTaskFile(bytes: Uint8Array, file: string): Promise<LocatedDocument<TaskFile>>;
  parseSettings(bytes: Uint8Array, file: string): Promise<LocatedDocument<SettingsFile>>;
  parseState(bytes: Uint8Array, file: string): Promise<SwarmState>;
}
