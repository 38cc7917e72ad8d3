import { removeOldestEntries } from "../../src/text/remove-oldest.ts";
import type { AgentActivity } from "../agents/agent.ts";
import type { AgentUserProcess } from "../machine/agent-user.ts";
import type { PauseAwareClock } from "../machine/pause-aware-clock.ts";

/**
 * The CPU time, in milliseconds, that the agent's processes must use between two checks to count as active.
 */
const enoughCpuMs = 1_000;

export interface IdleLimits {
  readonly idleMs: number;
  readonly toolMs: number;
}

/**
 * Decides whether a silent agent works or hangs. Considers the agent's output, CPU time and open tool calls.
 */
export class IdlenessDetector {
  readonly #clock: Pick<PauseAwareClock, "now">;
  readonly #openTools = new Map<string, number>();
  /** The CPU time of each process at the last check, in milliseconds, by process ID. */
  #cpuMsByPid: ReadonlyMap<number, number> = new Map();
  #lastSign: number;
  #cpuMs = 0;

  constructor(clock: Pick<PauseAwareClock, "now">) {
    this.#clock = clock;
    this.#lastSign = clock.now();
  }

  get idleMs(): number {
    return Math.max(0, Math.round(this.#clock.now() - this.#lastSign));
  }

  noteOutput(): void {
    this.#lastSign = this.#clock.now();
    this.#cpuMs = 0;
  }

  noteTool({ id, state }: NonNullable<AgentActivity["tool"]>): void {
    if (state === "ended") this.#openTools.delete(id);
    else if (!this.#openTools.has(id)) this.#openTools.set(id, this.#clock.now());
    removeOldestEntries(this.#openTools);
  }

  noteProcesses(processes: readonly AgentUserProcess[]): void {
    for (const { pid, cpuMs } of processes)
      this.#cpuMs += Math.max(0, cpuMs - (this.#cpuMsByPid.get(pid) ?? 0));
    this.#cpuMsByPid = new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs]));
    if (this.#cpuMs >= enoughCpuMs) this.noteOutput();
  }

  /**
   * Returns the reason why the adapter considers the agent hung. Returns null if the agent may still be
   * working.
   */
  verdict({ idleMs, toolMs }: IdleLimits): string | null {
    if (this.idleMs < idleMs) return null;
    const now = this.#clock.now();
    if ([...this.#openTools.values()].some((at) => now - at < toolMs)) return null;
    const silence = `the agent wrote nothing and used almost no CPU time for ${Math.round(this.idleMs / 1_000)} s`;
    return this.#openTools.size > 0
      ? `${silence}, and the agent's tool call exceeds its time limit`
      : silence;
  }
}
