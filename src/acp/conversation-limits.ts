export interface ConversationTimeouts {
  /** Silence in milliseconds after which an adapter that is not paused counts as stalled. */
  readonly silenceMs: number;
  /**
   * Idle time of the agent in milliseconds, as heartbeats report it, after which the worker counts as
   * stalled.
   */
  readonly idleMs: number;
  /**
   * Milliseconds of silence or without a connection, after which the worker of a running container counts as
   * lost.
   */
  readonly lostMs: number;
  /** Interval in milliseconds at which the host polls a paused container. */
  readonly pausedMs: number;
  /**
   * Maximum milliseconds that an adapter has to close the connection after the host acknowledged the last
   * message.
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
