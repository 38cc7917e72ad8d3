export interface LimitedCallOptions {
  /** Whether this call runs before all waiting calls that have no `isPriority`. */
  readonly isPriority?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export type LimitedCall = <Result>(work: () => Promise<Result>, turn?: LimitedCallOptions) => Promise<Result>;

/**
 * Creates a function that limits how many calls run concurrently. Further calls wait in a FIFO queue; calls
 * with `isPriority` go to the front.
 */
export function createConcurrencyLimiter(width: () => Promise<number>): LimitedCall {
  let running = 0;
  const first: (() => void)[] = [];
  const others: (() => void)[] = [];

  const enter = async ({ isPriority = false, signal }: LimitedCallOptions): Promise<void> => {
    const limit = await width();
    signal?.throwIfAborted();
    if (running < limit) {
      running += 1;
      return;
    }
    const waiting = isPriority ? first : others;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      const index = waiting.indexOf(resolve);
      // A call that is no longer in the queue has a slot already, which it frees when it ends.
      if (index < 0) return;
      waiting.splice(index, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    waiting.push(resolve);
    await promise;
    signal?.removeEventListener("abort", giveUp);
  };

  /**
   * Gives the slot of an ended call directly to the next waiting call, so that no newly arrived call can
   * take the slot first.
   */
  const leave = (): void => {
    const next = first.shift() ?? others.shift();
    if (next) next();
    else running -= 1;
  };

  return async (work, turn = {}) => {
    turn.signal?.throwIfAborted();
    await enter(turn);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
