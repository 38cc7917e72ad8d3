/** Why the signal of a deadline is aborted. */
export class TimeOver extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`The time of ${ms} ms is over`);
    this.name = "TimeOver";
    this.ms = ms;
  }
}

/** A tick that comes this much too late was no busy machine: the whole container stood still. */
const pauseMs = 10_000;

/**
 * Time in which work was possible: it stands still while the container is paused. All limits are measured with it. The host
 * tells of pauses that it made, and gaps are seen here too; what both tell counts once.
 */
export class WorkClock {
  readonly #monotonic: () => number;
  readonly #deadlines = new Set<{ readonly at: number; readonly expire: () => void }>();
  #lastTick: number;
  #pausedMs = 0;
  /** Of the pauses seen here, what the host has not told of yet. */
  #untoldMs = 0;
  #pauses = 0;

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
    this.#lastTick = monotonic();
  }

  /** How many pauses there were. */
  get pauses(): number {
    return this.#pauses;
  }

  now(): number {
    return this.#lastTick - this.#pausedMs;
  }

  /** To be called about every `intervalMs`; aborts what has expired. */
  tick(intervalMs: number): void {
    this.#look(intervalMs);
    const now = this.now();
    for (const deadline of this.#deadlines) {
      if (deadline.at <= now) {
        this.#deadlines.delete(deadline);
        deadline.expire();
      }
    }
  }

  /** The host paused the container for that long. */
  addPause(pausedMs: number): void {
    // Its message may come before the next tick, and tells of the same gap that the tick would see.
    this.#look(0);
    const more = Math.max(0, pausedMs - this.#untoldMs);
    this.#untoldMs = 0;
    if (more > 0) this.#pauses += 1;
    this.#pausedMs += more;
  }

  #look(intervalMs: number): void {
    const at = this.#monotonic();
    const gap = at - this.#lastTick - intervalMs;
    this.#lastTick = at;
    if (gap <= pauseMs) return;
    this.#pausedMs += gap;
    this.#untoldMs += gap;
    this.#pauses += 1;
  }

  /** Aborted with `TimeOver` after so much working time, unless it is disposed before. */
  after(ms: number): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const deadline = { at: this.now() + ms, expire: () => controller.abort(new TimeOver(ms)) };
    this.#deadlines.add(deadline);
    return { signal: controller.signal, [Symbol.dispose]: () => void this.#deadlines.delete(deadline) };
  }
}
