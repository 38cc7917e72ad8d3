import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { AcpReason, Cancel, Completion, ErrorMessage } from "../domain/generated/acp.ts";

/**
 * The status of the connection to an adapter. `stalled`: the container runs, but its adapter is silent or its
 * agent has done nothing for a long time.
 */
export type ConnectionStatus = "live" | "lost" | "paused" | "stalled";

/**
 * The end of a conversation with an adapter. The end may contain statements of the worker that nothing has
 * verified, so do not trust them.
 */
export type ConversationEnd =
  | { readonly kind: "completion"; readonly message: Completion }
  /**
   * The adapter cannot do its work. A message without a `seq` refuses only this request: the adapter
   * continues an earlier one.
   */
  | { readonly kind: "error"; readonly message: ErrorMessage }
  /**
   * The container ended without a final message. `unread` is the reason why swarm could not read the
   * container's journal, or null.
   */
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      readonly memoryExhausted: boolean;
      /**
       * The processes in the adapter's last report, or null without a report. `now` is the peak number,
       * `most` the limit.
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
