import type { StartCommandTimeLimit } from "./git.ts";
import type { PauseAwareClock } from "./work-clock.ts";

/**
 * Sets time limits for the adapter's own commands: each command has its own limit, and all commands end when the work
 * stops.
 */
export class CommandTimeLimits {
  readonly #clock: PauseAwareClock;
  #until: AbortSignal;

  constructor(clock: PauseAwareClock, until: AbortSignal) {
    this.#clock = clock;
    this.#until = until;
  }

  limit(ms: number): ReturnType<StartCommandTimeLimit> {
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
