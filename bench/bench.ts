import type { ContainerEngine } from "../src/engine/engine.ts";
import type { Comparison } from "./compare.ts";
import type { Docker } from "./peers.ts";

/** What a bench is given. What it hands to `undo` is gone when its measurements are over. */
export interface BenchContext {
  /** An empty folder of its own. */
  readonly folder: string;
  /** For commands: a home of its own, no colours. */
  readonly env: NodeJS.ProcessEnv;
  /** The tests' engine with the base image; null where none can be had. */
  readonly engine: ContainerEngine | null;
  /** The engine's own command; null where that is not installed. */
  readonly docker: Docker | null;
  readonly undo: AsyncDisposableStack;
  /** Only correctness and gross regressions: few rounds, small numbers, no costly peers. */
  readonly isShort: boolean;
  /** Says that something could not be compared, and why. */
  absent(peer: string, why: string): void;
}

/** How a figure grows with the number of things. */
export interface Growth {
  readonly name: string;
  readonly unit: string;
  /** Whose: ours first. */
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [n: number, value: number])[];
  }[];
}

export interface PreparedBench {
  readonly comparisons: readonly Comparison[];
  /** Measured after the comparisons. */
  readonly growth?: () => Promise<readonly Growth[]>;
}

/** A bench by its name on the command line. */
export interface Bench {
  readonly title: string;
  readonly prepare: (context: BenchContext) => Promise<PreparedBench>;
}

/** A bench without an engine has nothing to say. */
export const nothing: PreparedBench = { comparisons: [] };

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** The comparison would not be one. */
export function refuse(condition: boolean, what: string): void {
  if (condition) throw new Error(`the comparison is not one: ${what}`);
}
