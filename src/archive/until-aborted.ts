/** The pieces of a source, until a signal ends the wait for the next one with its reason. */
export async function* untilAborted<Piece>(
  source: AsyncIterable<Piece>,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const pieces = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orAborted(() => pieces.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    const farewell = Promise.resolve(pieces.return?.());
    // A source that is stuck takes leave only after its next piece, which may never come; what it still says is of no interest.
    if (signal.aborted) farewell.catch(() => undefined);
    else await farewell;
  }
}

/** Not `Promise.race` with one promise for the signal: that promise would keep every piece alive until the end. */
function orAborted<Result>(wait: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    wait()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
