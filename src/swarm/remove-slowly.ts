/** So long a removal may take before it is told: one of a million files takes minutes. */
const slowMs = 3_000;
/** So long a removal is still waited for by an owner that is to stop. The engine goes on with it. */
const leaveMs = 3_000;

export interface SlowRemoval {
  readonly tell: (why: string) => void;
  /** Aborted when no more work is to be done. */
  readonly halt?: AbortSignal | undefined;
}

/** Waits for removals however long the engine takes, says that it does, and leaves them to it when all work is to stop. */
export async function removeSlowly(
  remove: (signal: AbortSignal) => Promise<void>,
  { tell, halt }: SlowRemoval,
  signal: AbortSignal,
): Promise<void> {
  const leaving = new AbortController();
  const timers = [setTimeout(() => tell("the removal is still in progress at the engine"), slowMs)];
  const leave = (): void => void timers.push(setTimeout(() => leaving.abort(leaving), leaveMs));
  if (halt?.aborted) leave();
  else halt?.addEventListener("abort", leave, { once: true });
  try {
    await remove(AbortSignal.any([signal, leaving.signal]));
  } catch (error) {
    if (!leaving.signal.aborted || signal.aborted) throw error;
    tell("the removal is left to the engine; `swarm cleanup` takes away what is left");
  } finally {
    for (const timer of timers) clearTimeout(timer);
    halt?.removeEventListener("abort", leave);
  }
}
