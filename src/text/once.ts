/**
 * Returns a function that runs `make` at its first call and shares the result with later calls. After a
 * failure, the next call runs `make` again.
 */
export function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
