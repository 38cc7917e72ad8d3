import type { CommandLimit } from "./git.ts";
import type { WorkClock } from "./work-clock.ts";

/** Time limits for the adapter's own commands: each command has its own, and all end when the work stops. */
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

  /** Gives all commands after that stop this much time together. */
  extend(ms: number): Disposable {
    const last = this.#clock.after(ms);
    this.#until = last.signal;
    return last;
  }
}
