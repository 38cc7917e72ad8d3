export interface ConversationTimeouts {
  /**
   * Milliseconds without a message from an adapter after which the adapter counts as stalled, unless its
   * container is paused.
   */
  readonly silenceMs: number;
  /**
   * Milliseconds without activity of the agent after which its worker counts as stalled. The adapter's
   * heartbeats report this idle time.
   */
  readonly idleMs: number;
  /**
   * Milliseconds without a message from the adapter after which the worker counts as lost, if its container
   * still runs. Applies whether or not the host is connected to the adapter.
   */
  readonly lostMs: number;
  /** Milliseconds between two checks of whether a paused container is still paused. */
  readonly pausedMs: number;
  /**
   * Maximum milliseconds between the host's acknowledgement of the adapter's last message and the end of the
   * connection.
   */
  readonly closingMs: number;
}

export const conversationTimeouts: ConversationTimeouts = {
  silenceMs: 30_000,
  idleMs: 5 * 60_000,
  lostMs: 5 * 60_000,
  pausedMs: 1_000,
  closingMs: 2_000,
};
