import type { SwarmPlan } from "../../contract/plan.ts";
import type { TaskFile } from "../../contract/tasks.ts";

/**
 * The CPUs and memory of the engine's host. `others` describes the host's other sandboxes: the number of
 * workers among them, and the sum of their memory limits.
 */
export interface HostCapacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly others: { readonly workers: number; readonly memoryBytes: number };
  /** The host's name in messages to the user: `the engine's host`, or `this machine` if no engine answers. */
  readonly name: string;
}

interface ParallelSettings {
  readonly parallel: number | "auto";
  /** The memory limit of one worker, in bytes. */
  readonly memoryBytes: number;
}

const noOthers: HostCapacity["others"] = { workers: 0, memoryBytes: 0 };

/**
 * Returns the number of workers (at least 1) that fit on the host beside its other sandboxes. Memory is one
 * limit; the other is two workers per CPU, since agents mostly wait.
 */
function countWorkersThatFit(
  { cpus, memoryBytes, others }: Omit<HostCapacity, "name">,
  limitBytes: number,
): number {
  const byMemory = Math.floor(((memoryBytes - others.memoryBytes) * 0.9) / limitBytes);
  return Math.max(1, Math.min(byMemory, cpus * 2 - others.workers));
}

/**
 * Returns how many workers may run the given tasks at the same time, and why. `capacity` matters only for
 * `parallel: auto`; null means that the capacity is unknown.
 */
export function chooseMaxParallelWorkers(
  tasks: readonly { readonly taskFile: TaskFile }[],
  { parallel, memoryBytes }: ParallelSettings,
  capacity: HostCapacity | null,
): SwarmPlan["parallel"] {
  const { workers: wanted, why } =
    parallel === "auto"
      ? automaticWorkers(capacity, memoryBytes)
      : { workers: parallel, why: "set by --parallel or a setting" };
  const caps = tasks.flatMap(({ taskFile }) => taskFile.metadata.maxConcurrency ?? []);
  const workers = Math.min(wanted, ...caps.map((cap) => (cap <= 0 ? 4 : cap)));
  if (workers === wanted) return { workers, why };
  return {
    workers,
    why: `metadata.maxConcurrency of a task file reduces the number of workers, which would otherwise be ${wanted}`,
  };
}

/** Whether swarm could run more workers at the same time if the host's other sandboxes ended. */
export function isParallelismLimitedByOtherSandboxes(
  tasks: readonly { readonly taskFile: TaskFile }[],
  settings: ParallelSettings,
  capacity: HostCapacity | null,
): boolean {
  const alone = capacity && { ...capacity, others: noOthers };
  const { workers } = chooseMaxParallelWorkers(tasks, settings, capacity);
  return workers < chooseMaxParallelWorkers(tasks, settings, alone).workers;
}

function automaticWorkers(capacity: HostCapacity | null, memoryBytes: number): SwarmPlan["parallel"] {
  if (capacity === null) return { workers: 1, why: "the memory and CPUs of the engine's host are unknown" };
  const workers = countWorkersThatFit(capacity, memoryBytes);
  const isBeside = workers < countWorkersThatFit({ ...capacity, others: noOthers }, memoryBytes);
  const beside = isBeside ? " in addition to the other sandboxes on this host" : "";
  return { workers, why: `as many as the memory and CPUs of ${capacity.name} allow${beside}` };
}
