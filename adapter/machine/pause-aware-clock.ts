/** The reason with which a signal aborts at the end of its time limit. */
export class TimeLimitReached extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`The time limit of ${ms} ms has expired`);
    this.name = "TimeOver";
    this.ms = ms;
  }
}

/**
 * If a tick of the clock is late by more than this time, in milliseconds, the clock assumes that the
 * container was paused. A shorter delay may come from a busy machine.
 */
const pauseMs = 10_000;

/**
 * A clock that stops while the container is paused; all time limits use it. It learns of a pause from the
 * host's messages or from gaps between its ticks, and counts each pause only once.
 */
export class PauseAwareClock {
  readonly #monotonic: () => number;
  readonly #deadlines = new Set<{ readonly at: number; readonly expire: () => void }>();
  #lastTick: number;
  #pausedMs = 0;
  /**
   * The total time of the pauses, in milliseconds, that the clock has detected and that the host has not
   * reported yet.
   */
  #unreportedMs = 0;
  #pauses = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
    this.#lastTick = monotonic();
  }

  /** The number of pauses of the container that the clock has counted so far. */
  get pauses(): number {
    return this.#pauses;
  }

  now(): number {
    return this.#lastTick - this.#pausedMs;
  }

  /**
   * Detects pauses of the container, and aborts signals whose time limit has ended. The caller calls `tick`
   * about every `intervalMs`.
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

  /**
   * Adds a pause that the host reports, but only the part of its time that the clock has not detected itself.
   */
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
   * Returns a signal that aborts with `TimeLimitReached` after `ms`, not counting pauses of the container.
   * Disposal of the returned object prevents the abort.
   */
  after(ms: number): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const deadline = { at: this.now() + ms, expire: () => controller.abort(new TimeLimitReached(ms)) };
    this.#deadlines.add(deadline);
    return { signal: controller.signal, [Symbol.dispose]: () => void this.#deadlines.delete(deadline) };
  }
}
