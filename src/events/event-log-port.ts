import type { KeptEvent } from "../contract/event.ts";

export type { KeptEvent };

/** An event to log: a decision or an action of the owner, with its details. */
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
   * Queues an event for writing to the log file, in the order of the calls. Returns at once and never throws.
   */
  add(event: EventToLog): void;
  /** Resolves when every queued event has been written to the log file or has failed to be written. */
  flush(): Promise<void>;
}

/** Reads the event log, even while another process writes to it. */
export interface EventReader {
  /** Yields all events in the log, oldest first. */
  read(): AsyncIterable<KeptEvent>;
  /** Yields all events in the log, then each new event that the owner writes, until the signal aborts. */
  follow(signal: AbortSignal): AsyncIterable<KeptEvent>;
}
