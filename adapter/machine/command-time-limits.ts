import type { PauseAwareClock } from "./pause-aware-clock.ts";

/** The default time limit of a command, in milliseconds. */
const commandMs = 120_000;

/**
 * Sets the time limits of the commands that the adapter runs. Each command has its own limit, and all
 * commands end when the task stops.
 */
export class AdapterCommandTimeLimits {
  readonly #clock: PauseAwareClock;
  #until: AbortSignal;

  constructor(clock: PauseAwareClock, until: AbortSignal) {
    this.#clock = clock;
    this.#until = until;
  }

  readonly limit: StartCommandTimeLimit = (ms = commandMs) => {
    const own = this.#clock.after(ms);
    return { ...own, signal: AbortSignal.any([own.signal, this.#until]) };
  };

  /**
   * Lets the adapter run further commands after the task has stopped, but ends them all after `ms`
   * milliseconds.
   */
  extend(ms: number): Disposable {
    const last = this.#clock.after(ms);
    this.#until = last.signal;
    return last;
  }
}

/**
 * Starts the time limit of one command; the default is two minutes. Without a limit, git could wait forever
 * for data from a pipe that an agent put into the repository.
 */
export type StartCommandTimeLimit = (ms?: number) => Disposable & { readonly signal: AbortSignal };
