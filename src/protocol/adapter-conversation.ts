import type { AcpReason, Cancel, Completion, ErrorMessage } from "../contract/acp.ts";
import type { AdapterMessage } from "./rules/protocol-messages.ts";

/**
 * The status of the connection to an adapter. `stalled` means that the container runs, but its adapter sends
 * nothing, or its agent has done nothing for a long time.
 */
export type AdapterConnectionStatus = "live" | "lost" | "paused" | "stalled";

/**
 * How a conversation with an adapter ended. The adapter's messages contain claims of the worker that swarm
 * has not verified.
 */
export type AdapterConversationEnd =
  | { readonly kind: "completion"; readonly message: Completion }
  /**
   * The adapter reported that it cannot do its work. If the message has no `seq`, the adapter has only
   * rejected this host's task request, and continues an earlier task request.
   */
  | { readonly kind: "error"; readonly message: ErrorMessage }
  /**
   * The container ended before the adapter sent a final message. `unread` is the reason why swarm could not
   * read the adapter's journal in the container, or null.
   */
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      readonly memoryExhausted: boolean;
      /**
       * The peak number of processes and threads in the container (`now`) and their limit (`most`), from the
       * adapter's last heartbeat. Null if no heartbeat had these numbers.
       */
      readonly processes: { readonly now: number; readonly most: number } | null;
      readonly unread: string | null;
    }
  /** The container no longer exists. The volume with the adapter's journal may still be readable. */
  | { readonly kind: "gone" }
  | { readonly kind: "violation"; readonly reason: AcpReason }
  | { readonly kind: "lost"; readonly reason: AcpReason };

/** An event of the conversation with an adapter, for the owner. All texts are safe to print on a terminal. */
export type AdapterConversationEvent =
  /**
   * A new message of the adapter. If the message has a `seq`, the host has already written it to the host's
   * journal on disk.
   */
  | { readonly kind: "message"; readonly message: AdapterMessage }
  /** The number of the adapter's messages that the host ignored because their types are unknown. */
  | { readonly kind: "ignored"; readonly count: number }
  | { readonly kind: "line"; readonly status: AdapterConnectionStatus; readonly why: string }
  | { readonly kind: "end"; readonly end: AdapterConversationEnd };

/**
 * A conversation between the host and an adapter. If the owner reads events slowly, back-pressure pauses the
 * conversation.
 */
export interface AdapterConversation extends AsyncDisposable {
  /** The events of the conversation. Only one reader may iterate over them. The last event is `end`. */
  readonly events: AsyncIterable<AdapterConversationEvent>;
  /**
   * Asks the adapter to stop the agent. If the connection is broken, the host sends the request after it has
   * reconnected.
   */
  cancel(payload: Cancel["payload"]): Promise<void>;
  /** Notifies the adapter after the container was unpaused, with the length of the pause in milliseconds. */
  resumed(pausedMs: number): Promise<void>;
}
