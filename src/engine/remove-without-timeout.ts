/**
 * The time in milliseconds after which swarm reports to the user that a removal is slow. To remove a million
 * files takes minutes.
 */
const slowMs = 3_000;
/** The maximum time in milliseconds for which an owner that has to stop still waits for a removal. */
const leaveMs = 3_000;

export interface RemovalOptions {
  readonly onSlow: (why: string) => void;
  /** Aborted when the owner has to stop and cannot wait long for the removal. */
  readonly halt?: AbortSignal | undefined;
}

/**
 * Waits for the engine to remove something, without a time limit, and reports a slow removal to the user.
 * After `halt`, waits only a short time; the engine may then finish the removal alone.
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
