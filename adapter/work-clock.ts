/** The abort reason of a signal at the end of its time limit. */
export class TimeLimitReached extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`The time limit of ${ms} ms has expired`);
    this.name = "TimeOver";
    this.ms = ms;
  }
}

/**
 * The minimum delay of a tick, in milliseconds, at which the clock assumes that the container was paused. A
 * shorter delay may come from a busy machine.
 */
const pauseMs = 10_000;

/**
 * A clock that stops while the container is paused; all limits use it. It learns of pauses from the host's
 * messages and from gaps between its own ticks. A pause that both report counts once.
 */
export class PauseAwareClock {
  readonly #monotonic: () => number;
  readonly #deadlines = new Set<{ readonly at: number; readonly expire: () => void }>();
  #lastTick: number;
  #pausedMs = 0;
  /** The time of the pauses that the clock has detected and the host has not reported yet, in milliseconds. */
  #unreportedMs = 0;
  #pauses = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
    this.#lastTick = monotonic();
  }

  /** The number of pauses that the clock knows of. */
  get pauses(): number {
    return this.#pauses;
  }

  now(): number {
    return this.#lastTick - this.#pausedMs;
  }

  /**
   * Detects pauses, and aborts the signals whose time limit is reached. The caller calls `tick` about every
   * `intervalMs`.
   */
  tick(intervalMs: number): void {
    this.#detectPause(intervalMs);
    const now = this.now();
    for (const deadline of this.#deadlines) {
      if (deadline.at <= now) {
        this.#deadlines.delete(deadline);
        deadline.expire();
      }
    }
  }

  /** Adds a pause that the host reports, unless the clock has already detected it. */
  addPause(pausedMs: number): void {
    // Detects the gap first: the host's message reports the same pause and may come before the next tick.
    this.#detectPause(0);
    const more = Math.max(0, pausedMs - this.#unreportedMs);
    this.#unreportedMs = 0;
    if (more > 0) this.#pauses += 1;
    this.#pausedMs += more;
  }

  #detectPause(intervalMs: number): void {
    const at = this.#monotonic();
    const gap = at - this.#lastTick - intervalMs;
    this.#lastTick = at;
    if (gap <= pauseMs) return;
    this.#pausedMs += gap;
    this.#unreportedMs += gap;
    this.#pauses += 1;
  }

  /**
   * Returns a signal that aborts with `TimeLimitReached` after `ms` of working time. Disposing the returned
   * object prevents that.
   */
  after(ms: number): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const deadline = { at: this.now() + ms, expire: () => controller.abort(new TimeLimitReached(ms)) };
    this.#deadlines.add(deadline);
    return { signal: controller.signal, [Symbol.dispose]: () => void this.#deadlines.delete(deadline) };
  }
}
