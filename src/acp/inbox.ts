/** What one side puts in faster than the other takes out, up to a limit; then the first one waits. */
export class Inbox<Item> {
  readonly #limit: number;
  #items: Item[] = [];
  #weight = 0;
  #failure: { readonly error: unknown } | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether somebody who puts must wait. */
  get isFull(): boolean {
    return this.#weight >= this.#limit;
  }

  /** Takes them at once, and resolves when there is room for more. */
  async put(items: readonly Item[], weight: number, signal: AbortSignal): Promise<void> {
    this.#items.push(...items);
    this.#weight += weight;
    this.#tell();
    while (this.isFull) await orAborted(this.#changed.promise, signal);
  }

  /** For the few words that nobody may wait with. */
  post(item: Item): void {
    this.#items.push(item);
    this.#tell();
  }

  /** Whoever takes is told of this instead, after what is here. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#tell();
  }

  /** All that is here, at least one. */
  async take(signal: AbortSignal): Promise<readonly Item[]> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#items.length > 0) {
        const items = this.#items;
        this.#items = [];
        this.#weight = 0;
        this.#tell();
        return items;
      }
      if (this.#failure) throw this.#failure.error;
      await orAborted(this.#changed.promise, signal);
    }
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** The promise, or the end of waiting for it. */
export async function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
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
