import type { StartTimeLimit } from "./git.ts";
import type { WorkClock } from "./work-clock.ts";

/**
 * Sets time limits for the adapter's own commands: each command has its own limit, and all commands end when the work
 * stops.
 */
export class CommandTimeLimits {
  readonly #clock: WorkClock;
  #until: AbortSignal;

  constructor(clock: WorkClock, until: AbortSignal) {
    this.#clock = clock;
    this.#until = until;
  }

  limit(ms: number): ReturnType<StartTimeLimit> {
    const own = this.#clock.after(ms);
    return {
      signal: AbortSignal.any([own.signal, this.#until]),
      [Symbol.dispose]: () => own[Symbol.dispose](),
    };
  }

  /** Allows new commands after the work has stopped, and ends them all after `ms` milliseconds. */
  extend(ms: number): Disposable {
    const last = this.#clock.after(ms);
    this.#until = last.signal;
    return last;
  }
}
