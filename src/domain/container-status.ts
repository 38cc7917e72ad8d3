import type { ContainerStatus } from "./generated/swarm-state.ts";

export type { ContainerStatus };

/**
 * The allowed transitions from each status. `through running`: one write makes two transitions, to `running`
 * and then to the new status. `onto`: only `retry --onto` may make the transition.
 */
const transitions: Readonly<
  Record<ContainerStatus, Partial<Record<ContainerStatus, "yes" | "through running" | "onto">>>
> = {
  pending: { running: "yes", completed: "through running", failed: "yes", stopped: "yes" },
  running: { completed: "yes", failed: "yes", stopped: "yes" },
  stopped: { pending: "yes", running: "yes", completed: "through running", failed: "yes" },
  failed: { pending: "yes" },
  completed: { pending: "onto" },
};

export const containerStatuses: readonly ContainerStatus[] = [
  "pending",
  "running",
  "completed",
  "failed",
  "stopped",
];

/**
 * Returns whether a worker's record may change from one status to another. `onto` is true for `retry --onto`,
 * the only command that changes the status `completed`.
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

/** Returns the statuses to which a worker's record may change next, for the hint of an error. */
export function nextStatuses(from: ContainerStatus): ContainerStatus[] {
  return containerStatuses.filter((to) => to !== from && canChangeStatus(from, to));
}

/**
 * Returns whether the status is final for the worker's attempt. Only a further attempt changes a final
 * status.
 */
export function isTerminalStatus(status: ContainerStatus): boolean {
  return status === "completed" || status === "failed";
}
