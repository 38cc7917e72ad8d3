/**
 * Yields the pieces of a source; throws the signal's reason as soon as it is aborted, even while waiting for
 * a piece.
 */
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
    const returned = Promise.resolve(pieces.return?.());
    // A stuck source answers `return` only after its next piece, which may never come. So do not wait, and
    // ignore its error.
    if (signal.aborted) returned.catch(() => undefined);
    else await returned;
  }
}

/** Not `Promise.race` with one promise for the signal: that promise would keep every piece in memory until the end. */
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
