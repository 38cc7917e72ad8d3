/** Lets so many run at once; the others wait in the order in which they came. */
export function limiter(
  width: () => Promise<number>,
): <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result> {
  let running = 0;
  const waiting: (() => void)[] = [];

  const enter = async (signal?: AbortSignal): Promise<void> => {
    const most = await width();
    signal?.throwIfAborted();
    if (running < most) {
      running += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      const place = waiting.indexOf(resolve);
      // Whoever was called in already has a place to hand on.
      if (place < 0) return;
      waiting.splice(place, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    waiting.push(resolve);
    await promise;
    signal?.removeEventListener("abort", giveUp);
  };

  /** A place is handed on, so that nobody slips in between. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  };

  return async (work, signal) => {
    signal?.throwIfAborted();
    await enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
