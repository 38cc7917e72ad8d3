/** Returns whether an error is one of the operating system, such as a missing file, with one of these codes. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | null)?.code ?? "");
}

/** Returns an error handler that returns `value` for these errors of the system, and rethrows any other error. */
export function ifSystemError<Value>(value: Value, ...codes: readonly string[]): (error: unknown) => Value {
  return (error) => {
    if (isSystemError(error, ...codes)) return value;
    throw error;
  };
}

/** Returns an error handler that returns `value` for a missing file, and rethrows any other error. */
export function ifMissing<Value>(value: Value): (error: unknown) => Value {
  return ifSystemError(value, "ENOENT");
}
