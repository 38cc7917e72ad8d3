import type { KeptEvent } from "../domain/generated/event.ts";

export type { KeptEvent };

/** A decision or an action of the owner, with its facts. */
export interface NewEvent {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

/** `.aimi/events.ndjson`: the events of the swarms of one worktree. Disposing flushes and closes the file. */
export interface EventLog extends EventReader, AsyncDisposable {
  /** Queues an event; returns at once, and never throws. The file gets events in this order. */
  add(event: NewEvent): void;
  /** Resolves when every queued event is in the file, or failed to be written. */
  flush(): Promise<void>;
}

/** Reads the events, while another process writes them or not. */
export interface EventReader {
  /** All events in the log, the oldest first. */
  read(): AsyncIterable<KeptEvent>;
  /** All events in the log, then new ones as they come, until the signal is aborted. */
  follow(signal: AbortSignal): AsyncIterable<KeptEvent>;
}
