import type { SwarmState } from "../domain/generated/swarm-state.ts";
import type { TaskFile } from "../domain/generated/tasks.ts";
import type { Place } from "../domain/place.ts";
import type { SettingsFile } from "../domain/settings.ts";

/** A document from outside that was found to be what it should be, and still knows its places. */
export interface ReadDocument<Document> {
  readonly document: Document;
  readonly placeOf: (pointer: string) => Place;
}

/** The door for everything that people or earlier runs wrote: past it, types are trusted. */
export interface DocumentParsers {
  parseTaskFile(bytes: Uint8Array, file: string): Promise<ReadDocument<TaskFile>>;
  parseSettings(bytes: Uint8Array, file: string): Promise<ReadDocument<SettingsFile>>;
  parseState(bytes: Uint8Array, file: string): Promise<SwarmState>;
}
