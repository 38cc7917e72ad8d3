import { SwarmError } from "../errors/errors.ts";
import {
  chooseMaxParallelWorkers,
  type HostCapacity,
  isParallelismLimitedByOtherSandboxes,
} from "../tasks/rules/parallel-workers.ts";
import type { UnpreparedWorker } from "./worker/worker.ts";

export interface SlotOptions {
  /**
   * The maximum number of workers that run at once. With `auto`, the memory and CPUs of the engine's host set
   * the maximum.
   */
  readonly parallel: number | "auto";
  /**
   * Reads the memory and CPUs of the engine's host that this swarm may use now. The owner calls it only if
   * `parallel` is `auto`.
   */
  readonly hostCapacity: (signal: AbortSignal) => Promise<HostCapacity>;
  /**
   * The interval in milliseconds at which the owner calls `hostCapacity` again while its workers wait for
   * memory and CPUs that other sandboxes may free.
   */
  readonly askHostEveryMs: number;
}

export interface Slots {
  readonly free: number;
  /** The reason for which workers without a slot wait. */
  readonly why: string;
  /**
   * Whether the owner must read the host's capacity again later, because other sandboxes may free memory and
   * CPUs.
   */
  readonly isToBeAskedAgain: boolean;
}

const freshMs = 1_000;
const freeSlot = "for a free slot";

/** Decides how many workers of a swarm may run at once. */
export class WorkerSlots {
  readonly #options: SlotOptions;
  readonly #memoryBytes: number;
  readonly #halt: AbortSignal;
  #capacity: HostCapacity | null = null;
  #hostAskedAtMs = Number.NEGATIVE_INFINITY;

  /** `memoryBytes` is the memory limit of each worker's sandbox. After `halt`, the host is not asked. */
  constructor(options: SlotOptions, memoryBytes: number, halt: AbortSignal) {
    this.#options = options;
    this.#memoryBytes = memoryBytes;
    this.#halt = halt;
  }

  /**
   * Returns how many of the ready workers may start now, and why the others must wait. Counts the running
   * workers after the host's answer, because a worker may end while the host is asked.
   */
  async slotsFor(
    ready: number,
    running: { readonly size: number },
    waiting: readonly UnpreparedWorker[],
  ): Promise<Slots> {
    if (ready === 0) return { free: 0, why: freeSlot, isToBeAskedAgain: false };
    const { parallel } = this.#options;
    if (parallel === "auto") await this.#askHost();
    const settings = { parallel, memoryBytes: this.#memoryBytes };
    const tasks = waiting.map(({ task }) => task);
    const capacity = this.#capacity;
    const free = Math.max(0, chooseMaxParallelWorkers(tasks, settings, capacity).workers - running.size);
    const isHeldBack = free < ready && isParallelismLimitedByOtherSandboxes(tasks, settings, capacity);
    return {
      free,
      why: isHeldBack ? "for memory and CPUs that other sandboxes may be using" : freeSlot,
      isToBeAskedAgain: isHeldBack || (parallel === "auto" && capacity === null),
    };
  }

  /**
   * Reads the memory and CPUs that this swarm may use on the engine's host, at most once a second. If the
   * engine does not answer, the values of the last read stay.
   */
  async #askHost(): Promise<void> {
    const { askHostEveryMs, hostCapacity } = this.#options;
    if (performance.now() - this.#hostAskedAtMs < Math.min(freshMs, askHostEveryMs)) return;
    this.#hostAskedAtMs = performance.now();
    try {
      this.#capacity = await hostCapacity(this.#halt);
    } catch (error) {
      if (!(error instanceof SwarmError) && !this.#halt.aborted) throw error;
    }
  }
}
