import { onAbort } from "../text/on-abort.ts";

/** Calls `onChange` whenever the state of the swarm may have changed, until the signal is aborted. */
export type WatchSwarm = (onChange: () => void, signal: AbortSignal) => void;

const pollEveryMs = 1_000;

/**
 * Calls `poll` now and whenever the state may have changed, until `poll` or its caller resolves `answer`.
 * Polls in addition to watching the state file: an owner that is killed changes no file.
 */
export async function pollSwarm<Answer>(
  { promise, reject }: PromiseWithResolvers<Answer>,
  poll: (over: AbortSignal) => Promise<void>,
  watch: WatchSwarm,
  signal: AbortSignal,
): Promise<Answer> {
  const over = new AbortController();
  const pollOrFail = (): void => void poll(over.signal).catch(reject);
  using _aborting = onAbort(signal, () => reject(signal.reason));
  const timer = setInterval(pollOrFail, pollEveryMs);
  watch(pollOrFail, AbortSignal.any([signal, over.signal]));
  pollOrFail();
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    over.abort();
  }
}
