import type { SwarmState } from "../contract/swarm-state.ts";
import type { TaskFile } from "../contract/tasks.ts";
import type { SourceLocation } from "../text/source-location.ts";
import type { SettingsFile } from "./rules/settings.ts";

/** A validated document from a file, with the line and column of each value for error messages. */
export interface LocatedDocument<Document> {
  readonly document: Document;
  readonly locationOf: (pointer: string) => SourceLocation;
}

/** Parses and validates the files that a user or an earlier run of swarm wrote. */
export interface DocumentParsers {
  parseTaskFile(bytes: Uint8Array, file: string): Promise<LocatedDocument<TaskFile>>;
  parseSettings(bytes: Uint8Array, file: string): Promise<LocatedDocument<SettingsFile>>;
  parseState(bytes: Uint8Array, file: string): Promise<SwarmState>;
}
