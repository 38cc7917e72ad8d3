import type { KeptEvent } from "../domain/generated/event.ts";

export type { KeptEvent };

/** An event to log: a decision or an action of the owner, with the facts behind it. */
export interface EventToLog {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/**
 * The log `.aimi/events.ndjson` with the events of one worktree's swarms. Disposing flushes and closes the
 * file.
 */
export interface EventLog extends EventReader, AsyncDisposable {
  /**
   * Queues an event for writing. Returns at once and never throws. Events reach the file in the order of the
   * calls.
   */
  add(event: EventToLog): void;
  /** Resolves when every queued event is in the file, or could not be written. */
  flush(): Promise<void>;
}

/** Reads the event log. Another process may write to the log at the same time. */
export interface EventReader {
  /** Yields all events that are in the log, the oldest first. */
  read(): AsyncIterable<KeptEvent>;
  /**
   * Yields all events that are in the log, then new events as the owner writes them, until the signal aborts.
   */
  follow(signal: AbortSignal): AsyncIterable<KeptEvent>;
}
