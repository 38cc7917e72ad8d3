/**
 * Yields the pieces of a source. Throws the signal's reason as soon as the signal aborts, even while waiting
 * for a piece.
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
    // A stuck source finishes `return` only after its next piece, which may never come. So do not wait for
    // `return`, and ignore its error.
    if (signal.aborted) returned.catch(() => undefined);
    else await returned;
  }
}

/**
 * Returns the result of `wait`, or rejects as soon as the signal aborts. Does not race each piece against one
 * shared promise for the signal, because that promise would keep all pieces in memory.
 */
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
