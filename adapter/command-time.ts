import type { CommandLimit } from "./git.ts";
import type { WorkClock } from "./work-clock.ts";

/** The time that commands of ours may take: each its own, and none beyond the moment at which all work is to stop. */
export class CommandTime {
  readonly #clock: WorkClock;
  #until: AbortSignal;

  constructor(clock: WorkClock, until: AbortSignal) {
    this.#clock = clock;
    this.#until = until;
  }

  limit(ms: number): ReturnType<CommandLimit> {
    const own = this.#clock.after(ms);
    return {
      signal: AbortSignal.any([own.signal, this.#until]),
      [Symbol.dispose]: () => own[Symbol.dispose](),
    };
  }

  /** What is still to be done once all work has stopped has so long, in all. */
  extend(ms: number): Disposable {
    const last = this.#clock.after(ms);
    this.#until = last.signal;
    return last;
  }
}
