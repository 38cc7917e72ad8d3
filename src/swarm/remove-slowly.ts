/** The time in milliseconds after which a removal is reported as slow. Removing a million files takes minutes. */
const slowMs = 3_000;
/**
 * The maximum time in milliseconds for which an owner that has to stop waits for a removal. The engine then
 * continues the removal.
 */
const leaveMs = 3_000;

export interface RemovalOptions {
  readonly onSlow: (why: string) => void;
  /** Aborted when the owner has to stop. */
  readonly halt?: AbortSignal | undefined;
}

/**
 * Waits for a removal without a time limit, and reports a slow removal. After `halt`, waits only a short
 * time, and the engine finishes the removal.
 */
export async function removeWithoutTimeout(
  remove: (signal: AbortSignal) => Promise<void>,
  { onSlow, halt }: RemovalOptions,
  signal: AbortSignal,
): Promise<void> {
  const leaving = new AbortController();
  const timers = [setTimeout(() => onSlow("the engine has not finished the removal yet"), slowMs)];
  const leave = (): void => void timers.push(setTimeout(() => leaving.abort(leaving), leaveMs));
  if (halt?.aborted) leave();
  else halt?.addEventListener("abort", leave, { once: true });
  try {
    await remove(AbortSignal.any([signal, leaving.signal]));
  } catch (error) {
    if (!leaving.signal.aborted || signal.aborted) throw error;
    onSlow(
      "swarm no longer waits for the engine to finish the removal; `swarm cleanup` removes what remains",
    );
  } finally {
    for (const timer of timers) clearTimeout(timer);
    halt?.removeEventListener("abort", leave);
  }
}
