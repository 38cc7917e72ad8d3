export interface ConversationLimits {
  /** Without a word for so long, an adapter that is not paused counts as stalled. */
  readonly silenceMs: number;
  /** So long an agent may have said nothing and done next to nothing, by its adapter's heartbeats, before it counts as stalled. */
  readonly idleMs: number;
  /** So long a container that is said to run may be out of reach, or its adapter silent. */
  readonly lostMs: number;
  /** How often a paused container is looked at. */
  readonly pausedMs: number;
  /** How long an adapter may take to end once its last word is acknowledged. */
  readonly farewellMs: number;
}

export const conversationLimits: ConversationLimits = {
  silenceMs: 30_000,
  idleMs: 5 * 60_000,
  lostMs: 5 * 60_000,
  pausedMs: 1_000,
  farewellMs: 2_000,
};
