import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { AcpReason, Cancel, Completion, ErrorMessage } from "../domain/generated/acp.ts";

/** How the line to an adapter is. `stalled`: it is said to run, and nothing is heard of it, or its agent has done nothing for long. */
export type LineStatus = "live" | "lost" | "paused" | "stalled";

/** How a conversation ended. What a worker claims in it is a claim. */
export type ConversationEnd =
  | { readonly kind: "completion"; readonly message: Completion }
  /** It cannot work, or, without a `seq`, it refuses what we asked: what it was asked before goes on without us. */
  | { readonly kind: "error"; readonly message: ErrorMessage }
  /** Its container ended without a last word. `unread` says why its own journal could not be read, where it could not. */
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      readonly memoryExhausted: boolean;
      /** The most processes that its adapter had told of, and how many there might be; null when it told of none. */
      readonly processes: { readonly now: number; readonly most: number } | null;
      readonly unread: string | null;
    }
  /** There is no such container any more; its volume may still be there to be read. */
  | { readonly kind: "gone" }
  | { readonly kind: "violation"; readonly reason: AcpReason }
  | { readonly kind: "lost"; readonly reason: AcpReason };

/** What the owner of a worker learns, in order; `end` is the last. All texts are fit to be shown. */
export type ConversationEvent =
  /** A message that was never told before; one with a `seq` is on the disk. */
  | { readonly kind: "message"; readonly message: AdapterMessage }
  /** A message of a type that only others know was left out. */
  | { readonly kind: "ignored"; readonly count: number }
  | { readonly kind: "line"; readonly status: LineStatus; readonly why: string }
  | { readonly kind: "end"; readonly end: ConversationEnd };

/** A conversation with an adapter. It goes no faster than its events are taken. */
export interface Conversation extends AsyncDisposable {
  /** To be read once; the last is `end`. */
  readonly events: AsyncIterable<ConversationEvent>;
  /** Asks the adapter to stop, now or as soon as it can be reached. */
  cancel(words: Cancel["payload"]): Promise<void>;
  /** Tells the adapter that its container was paused for so long. */
  resumed(pausedMs: number): Promise<void>;
}
