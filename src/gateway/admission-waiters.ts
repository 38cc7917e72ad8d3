interface Waiting extends PromiseWithResolvers<void> {
  /**
   * The number of the sent list of admitted workers whose answer this caller awaits, or 0 if that list is not
   * sent yet.
   */
  turn: number;
  /**
   * The sequence number of the gateway's journal entry up to which the host must read, or null until the
   * gateway has answered.
   */
  target: number | null;
}

/**
 * The callers that wait until the gateway has answered a list of admitted workers, and until the host has read
 * all journal entries that the gateway had written before its answer.
 */
export class AdmissionWaiters {
  readonly #until: AbortSignal;
  #waiting: Waiting[] = [];
  /** For the present connection, how many lists the host sent, and how many of them the gateway answered. */
  #sent = 0;
  #answered = 0;

  /** After `until`, no caller waits any longer. */
  constructor(until: AbortSignal) {
    this.#until = until;
  }

  add(within: AbortSignal): Promise<void> {
    if (this.#until.aborted) return Promise.reject(this.#until.reason);
    const waiter: Waiting = { turn: 0, target: null, ...Promise.withResolvers<void>() };
    this.#waiting.push(waiter);
    const giveUp = (): void => {
      this.#waiting = this.#waiting.filter((each) => each !== waiter);
      waiter.reject(within.aborted ? within.reason : this.#until.reason);
    };
    for (const each of [within, this.#until]) each.addEventListener("abort", giveUp, { once: true });
    return waiter.promise;
  }

  /** The next answer of the gateway serves all callers whose list was not sent yet. */
  sent(): void {
    this.#sent += 1;
    for (const waiter of this.#waiting) if (waiter.turn === 0) waiter.turn = this.#sent;
  }

  answered(lastSeq: number): void {
    this.#answered += 1;
    for (const waiter of this.#waiting)
      if (waiter.turn > 0 && waiter.turn <= this.#answered) waiter.target ??= lastSeq;
  }

  /** The host has read the gateway's journal up to this sequence number. */
  read(seq: number): void {
    const done = this.#waiting.filter(({ target }) => target !== null && target <= seq);
    this.#waiting = this.#waiting.filter((waiter) => !done.includes(waiter));
    for (const { resolve } of done) resolve();
  }

  /** All callers wait for an answer on the next connection. */
  disconnected(): void {
    this.#sent = 0;
    this.#answered = 0;
    for (const waiter of this.#waiting) Object.assign(waiter, { turn: 0, target: null });
  }

  fail(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }
}
