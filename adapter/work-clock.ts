/** The abort reason of a deadline's signal. */
export class TimeOver extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`The time of ${ms} ms is over`);
    this.name = "TimeOver";
    this.ms = ms;
  }
}

/** The delay of a tick from which it counts as a pause of the whole container, not as a busy machine. */
const pauseMs = 10_000;

/**
 * A clock of working time: it stops while the container is paused. All limits use it. The host reports the pauses that it made,
 * and the clock detects gaps between its ticks; a pause that both see counts once.
 */
export class WorkClock {
  readonly #monotonic: () => number;
  readonly #deadlines = new Set<{ readonly at: number; readonly expire: () => void }>();
  #lastTick: number;
  #pausedMs = 0;
  /** The part of the detected pauses that the host has not reported yet. */
  #unreportedMs = 0;
  #pauses = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
    this.#lastTick = monotonic();
  }

  /** The number of pauses so far. */
  get pauses(): number {
    return this.#pauses;
  }

  now(): number {
    return this.#lastTick - this.#pausedMs;
  }

  /** Aborts expired deadlines; the caller calls it about every `intervalMs`. */
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

  /** Adds a pause that the host reports. */
  addPause(pausedMs: number): void {
    // The host's message may come before the next tick and reports the same gap, so detect that gap first.
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

  /** A signal that is aborted with `TimeOver` after this much working time, unless disposed before. */
  after(ms: number): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const deadline = { at: this.now() + ms, expire: () => controller.abort(new TimeOver(ms)) };
    this.#deadlines.add(deadline);
    return { signal: controller.signal, [Symbol.dispose]: () => void this.#deadlines.delete(deadline) };
  }
}
