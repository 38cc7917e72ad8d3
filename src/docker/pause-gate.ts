/** Keeps pauses and the beginnings of programs apart. */
export interface PauseGate {
  /** Begins a program: not while somebody pauses. */
  pass<Result>(begin: () => Promise<Result>): Promise<Result>;
  /** Pauses: not while a program is being begun. */
  alone<Result>(pause: () => Promise<Result>): Promise<Result>;
}

/**
 * A container that is frozen while a program begins in it can never be thawed by its engine: what begins the program waits
 * for the frozen container, and what would thaw it waits for that.
 */
export function openPauseGate(): PauseGate {
  const beginning = new Set<Promise<unknown>>();
  let pausing: Promise<unknown> = Promise.resolve();
  return {
    async pass(begin) {
      for (let before = null as unknown; before !== pausing; ) {
        before = pausing;
        await pausing;
      }
      const begun = begin();
      const settled = begun.catch(() => {}).finally(() => beginning.delete(settled));
      beginning.add(settled);
      return begun;
    },
    alone(pause) {
      const paused = pausing.then(() => Promise.all(beginning)).then(pause);
      pausing = paused.catch(() => {});
      return paused;
    },
  };
}
