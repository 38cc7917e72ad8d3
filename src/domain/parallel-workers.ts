import type { SwarmPlan } from "./generated/plan.ts";
import type { WorkerTask } from "./plan.ts";

/** The CPUs and memory of an engine's host, and the share of them that other sandboxes may use. */
export interface HostCapacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly others: { readonly workers: number; readonly memoryBytes: number };
  /** The host's name in messages: `the engine's host`, or `this machine` where no engine answers. */
  readonly name: string;
}

export interface ParallelSettings {
  readonly parallel: number | "auto";
  /** The memory limit of one worker. */
  readonly memoryBytes: number;
}

const noOthers: HostCapacity["others"] = { workers: 0, memoryBytes: 0 };

/**
 * The number of workers that fit on a host beside the other sandboxes there: as many as its memory holds by their limits, and
 * at most two for each CPU, since agents mostly wait.
 */
export function workersThatFit(
  { cpus, memoryBytes, others }: Omit<HostCapacity, "name">,
  limitBytes: number,
): number {
  const byMemory = Math.floor(((memoryBytes - others.memoryBytes) * 0.9) / limitBytes);
  return Math.max(1, Math.min(byMemory, cpus * 2 - others.workers));
}

/**
 * The number of workers that may run at once while these tasks are not finished, and why; the same rule for `plan`, `start`,
 * `resume` and `retry`. `capacity` counts only for `auto`; null if it is unknown.
 */
export function parallelWorkers(
  tasks: readonly Pick<WorkerTask, "taskFile">[],
  { parallel, memoryBytes }: ParallelSettings,
  capacity: HostCapacity | null,
): SwarmPlan["parallel"] {
  const { workers: wanted, why } =
    parallel === "auto" ? automaticWorkers(capacity, memoryBytes) : { workers: parallel, why: "asked for" };
  const caps = tasks.flatMap(({ taskFile }) => taskFile.metadata.maxConcurrency ?? []);
  const workers = Math.min(wanted, ...caps.map((cap) => (cap <= 0 ? 4 : cap)));
  if (workers === wanted) return { workers, why };
  return { workers, why: `metadata.maxConcurrency of a task file lowers it from ${wanted}` };
}

/** Whether more workers could run if the other sandboxes of the host ended. */
export function isHeldBackByOthers(
  tasks: readonly Pick<WorkerTask, "taskFile">[],
  settings: ParallelSettings,
  capacity: HostCapacity | null,
): boolean {
  const alone = capacity && { ...capacity, others: noOthers };
  const { workers } = parallelWorkers(tasks, settings, capacity);
  return workers < parallelWorkers(tasks, settings, alone).workers;
}

function automaticWorkers(capacity: HostCapacity | null, memoryBytes: number): SwarmPlan["parallel"] {
  if (capacity === null) return { workers: 1, why: "what the engine's host has is not known" };
  const workers = workersThatFit(capacity, memoryBytes);
  const isBeside = workers < workersThatFit({ ...capacity, others: noOthers }, memoryBytes);
  const beside = isBeside ? " beside the other sandboxes there" : "";
  return { workers, why: `as many as memory and CPUs of ${capacity.name} allow${beside}` };
}
