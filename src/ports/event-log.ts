import type { KeptEvent } from "../domain/generated/event.ts";

export type { KeptEvent };

/** What the owner decided or did, with the facts that go with it. */
export interface EventToKeep {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** `.aimi/events.ndjson`: what happened in the swarms of one worktree. Disposing writes what is left and closes it. */
export interface EventLog extends EventReader, AsyncDisposable {
  /** Returns at once, and never throws. Events get to the file in this order. */
  add(event: EventToKeep): void;
  /** Resolves once everything that was added is in the file, or could not be written now. */
  flush(): Promise<void>;
}

/** The events as anybody may read them, beside a writer or without one. */
export interface EventReader {
  /** All that are kept, the oldest first. */
  read(): AsyncIterable<KeptEvent>;
  /** The same, and then new ones as they come, until the signal is aborted. */
  follow(signal: AbortSignal): AsyncIterable<KeptEvent>;
}
