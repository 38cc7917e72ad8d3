import type { ContainerStatus } from "./generated/swarm-state.ts";

export type { ContainerStatus };

/** The transitions of each status. `through running` is one write for two transitions, by way of running. */
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

/** Whether a record may change its status; `onto` is `retry --onto`, the only way back from completed. */
export function mayBecome(
  from: ContainerStatus,
  to: ContainerStatus,
  { onto = false }: { onto?: boolean } = {},
): boolean {
  if (from === to) return true;
  const kind = transitions[from][to];
  return kind === "onto" ? onto : kind !== undefined;
}

/** The statuses that a record may take next, for a hint. */
export function nextStatuses(from: ContainerStatus): ContainerStatus[] {
  return containerStatuses.filter((to) => to !== from && mayBecome(from, to));
}

/** Whether a worker of this status has ended; only another attempt changes the status again. */
export function isTerminal(status: ContainerStatus): boolean {
  return status === "completed" || status === "failed";
}
