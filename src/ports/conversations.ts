import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { AcpReason, Cancel, Completion, ErrorMessage } from "../domain/generated/acp.ts";

/**
 * The status of the connection to an adapter. `stalled`: the container runs, but its adapter is silent, or its agent has
 * done nothing for long.
 */
export type ConnectionStatus = "live" | "lost" | "paused" | "stalled";

/** The end of a conversation. Statements of the worker in it are unverified. */
export type ConversationEnd =
  | { readonly kind: "completion"; readonly message: Completion }
  /** The adapter cannot work; or, without a `seq`, it refuses this request and continues an earlier one. */
  | { readonly kind: "error"; readonly message: ErrorMessage }
  /** The container ended without a final message. `unread` is the reason if its journal could not be read. */
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      readonly memoryExhausted: boolean;
      /** The highest number of processes that its adapter reported, and the limit; null if it reported none. */
      readonly processes: { readonly now: number; readonly most: number } | null;
      readonly unread: string | null;
    }
  /** The container does not exist any more; its volume may still be readable. */
  | { readonly kind: "gone" }
  | { readonly kind: "violation"; readonly reason: AcpReason }
  | { readonly kind: "lost"; readonly reason: AcpReason };

/** An event for the owner of a worker; `end` is the last one. All texts are safe to show. */
export type ConversationEvent =
  /** A new message; one with a `seq` is in the host's journal on disk. */
  | { readonly kind: "message"; readonly message: AdapterMessage }
  /** The number of messages of unknown types that the host ignored. */
  | { readonly kind: "ignored"; readonly count: number }
  | { readonly kind: "line"; readonly status: ConnectionStatus; readonly why: string }
  | { readonly kind: "end"; readonly end: ConversationEnd };

/** A conversation with an adapter, with back-pressure: it waits until the owner takes its events. */
export interface Conversation extends AsyncDisposable {
  /** The events, for one reader; the last is `end`. */
  readonly events: AsyncIterable<ConversationEvent>;
  /** Asks the adapter to stop, now or as soon as the host reaches it. */
  cancel(payload: Cancel["payload"]): Promise<void>;
  /** Reports to the adapter for how long its container was paused. */
  resumed(pausedMs: number): Promise<void>;
}
