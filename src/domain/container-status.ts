import type { ContainerStatus } from "./generated/swarm-state.ts";

export type { ContainerStatus };

/**
 * The allowed transitions from each status. `through running` means two transitions in one write: to `running`, then to
 * the new status. `onto` means that only `retry --onto` makes the transition.
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
 * Returns whether a worker's record may change its status. `onto` is true for `retry --onto`, the only way back from
 * `completed`.
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

/** Returns whether a worker of this status has ended. Only another attempt changes such a status again. */
export function isTerminal(status: ContainerStatus): boolean {
  return status === "completed" || status === "failed";
}
