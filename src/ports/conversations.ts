import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { AcpReason, Cancel, Completion, ErrorMessage } from "../domain/generated/acp.ts";

/**
 * The status of the connection to an adapter. `stalled`: the container runs, but the adapter is silent, or
 * the agent has done nothing for a long time.
 */
export type ConnectionStatus = "live" | "lost" | "paused" | "stalled";

/**
 * The end of a conversation with an adapter. Do not trust what the worker states in it: nothing has verified
 * it.
 */
export type ConversationEnd =
  | { readonly kind: "completion"; readonly message: Completion }
  /**
   * The adapter cannot do its work. If the message has no `seq`, the adapter only refuses this request and
   * continues an earlier one.
   */
  | { readonly kind: "error"; readonly message: ErrorMessage }
  /**
   * The container ended without a final message. `unread` says why the container's journal could not be read;
   * null if it could.
   */
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      readonly memoryExhausted: boolean;
      /**
       * The highest number of processes that the adapter reported, and the limit; null if the adapter
       * reported none.
       */
      readonly processes: { readonly now: number; readonly most: number } | null;
      readonly unread: string | null;
    }
  /** The container no longer exists. The volume with its journal may still be readable. */
  | { readonly kind: "gone" }
  | { readonly kind: "violation"; readonly reason: AcpReason }
  | { readonly kind: "lost"; readonly reason: AcpReason };

/** An event of a conversation, for the worker's owner. All texts are safe to show. */
export type ConversationEvent =
  /** A new message. If the message has a `seq`, the host's journal on disk already has it. */
  | { readonly kind: "message"; readonly message: AdapterMessage }
  /** The host ignored this number of messages, because their types are unknown. */
  | { readonly kind: "ignored"; readonly count: number }
  | { readonly kind: "line"; readonly status: ConnectionStatus; readonly why: string }
  | { readonly kind: "end"; readonly end: ConversationEnd };

/**
 * A conversation between the host and an adapter. Back-pressure: the conversation waits while the owner takes
 * no events.
 */
export interface Conversation extends AsyncDisposable {
  /** The conversation's events, for a single reader. The last event is `end`. */
  readonly events: AsyncIterable<ConversationEvent>;
  /**
   * Asks the adapter to stop. If the connection is broken, the host sends the request after it reconnects.
   */
  cancel(payload: Cancel["payload"]): Promise<void>;
  /** Tells the adapter that its container was paused, and for how many milliseconds. */
  resumed(pausedMs: number): Promise<void>;
}
