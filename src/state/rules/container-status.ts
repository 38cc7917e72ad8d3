import type { ContainerStatus } from "../../contract/swarm-state.ts";

export type { ContainerStatus };

/**
 * The allowed changes of a worker's status, by the old status. With `through running`, one write to the
 * state file makes two changes: first to `running`, then to the new status. With `onto`, only the command
 * `retry --onto` may make the change.
 */
const transitions: Readonly<
  Record<ContainerStatus, Partial<Record<ContainerStatus, "yes" | "through running" | "onto">>>
> = {
  pending: { running: "yes", completed: "through running", failed: "yes", stopped: "yes" },
  running: { completed: "yes", failed: "yes", stopped: "yes" },
  completed: { pending: "onto" },
  failed: { pending: "yes" },
  stopped: { pending: "yes", running: "yes", completed: "through running", failed: "yes" },
};

export const containerStatuses: readonly ContainerStatus[] = Object.keys(transitions) as ContainerStatus[];

/**
 * Returns whether a worker's record may change from the first status to the second. `onto` must be true for
 * the command `retry --onto`, the only one that changes the status `completed`.
 */
export function canChangeStatus(
  from: ContainerStatus,
  to: ContainerStatus,
  { onto = false }: { onto?: boolean } = {},
): boolean {
  if (from === to) return true;
  const kind = transitions[from][to];
  return kind === "onto" ? onto : kind !== undefined;
}

/** Returns the statuses to which a worker's record may change next. Error messages list them as a hint. */
export function nextStatuses(from: ContainerStatus): ContainerStatus[] {
  return containerStatuses.filter((to) => to !== from && canChangeStatus(from, to));
}

/**
 * Returns whether a status is final for a worker's present attempt. Only a new attempt changes a final
 * status.
 */
export function isTerminalStatus(status: ContainerStatus): boolean {
  return status === "completed" || status === "failed";
}
