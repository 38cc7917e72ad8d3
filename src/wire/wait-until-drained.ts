import type { EventEmitter } from "node:events";

/** Resolves when the stream accepts more data (`drain`) or is closed, or when the signal is aborted. */
export function waitUntilDrained(
  stream: EventEmitter & { readonly destroyed: boolean },
  signal?: AbortSignal,
): Promise<void> {
  if (signal?.aborted || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    stream.once("drain", done).once("close", done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
