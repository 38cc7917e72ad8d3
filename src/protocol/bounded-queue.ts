/** A queue with back-pressure: `put` waits while the queue is full. */
export class BoundedQueue<Item> {
  readonly #limit: number;
  #items: Item[] = [];
  #weight = 0;
  #failure: { readonly error: unknown } | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the queue has reached its limit. While the queue is full, `put` waits. */
  get isFull(): boolean {
    return this.#weight >= this.#limit;
  }

  /**
   * Adds the items at once, and then waits until the queue is no longer full. `weight` is how much the items
   * count towards the queue's limit.
   */
  async put(items: readonly Item[], weight: number, signal: AbortSignal): Promise<void> {
    this.#items.push(...items);
    this.#weight += weight;
    this.#notify();
    while (this.isFull) await rejectWhenAborted(this.#changed.promise, signal);
  }

  /**
   * Adds an item that does not count towards the queue's limit, and never waits. For the few items whose
   * producer must not block.
   */
  post(item: Item): void {
    this.#items.push(item);
    this.#notify();
  }

  /** Makes `take` throw this error after all queued items have been taken. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#notify();
  }

  /** Waits until the queue has at least one item, then removes and returns all its items. */
  async take(signal: AbortSignal): Promise<readonly Item[]> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#items.length > 0) {
        const items = this.#items;
        this.#items = [];
        this.#weight = 0;
        this.#notify();
        return items;
      }
      if (this.#failure) throw this.#failure.error;
      await rejectWhenAborted(this.#changed.promise, signal);
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Resolves with the promise's result, or rejects with the signal's reason if the signal aborts first. */
export async function rejectWhenAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
