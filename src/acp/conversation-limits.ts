export interface ConversationTimeouts {
  /**
   * Milliseconds without a message after which an adapter counts as stalled, unless its container is paused.
   */
  readonly silenceMs: number;
  /**
   * Milliseconds of the agent's idle time after which the worker counts as stalled. Heartbeats report the
   * idle time.
   */
  readonly idleMs: number;
  /**
   * Milliseconds without a message after which the worker of a running container counts as lost, whether or
   * not the host is connected.
   */
  readonly lostMs: number;
  /** Interval in milliseconds at which the host polls a paused container. */
  readonly pausedMs: number;
  /**
   * Maximum milliseconds from the host's acknowledgement of the last message until the adapter closes the
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
