import type { ContainerStatus } from "./generated/swarm-state.ts";

export type { ContainerStatus };

/** Where each status may go. `through running` is one write that passes through running. */
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

/** Whether a record may move; `onto` is `retry --onto`, the one way back from completed. */
export function mayBecome(
  from: ContainerStatus,
  to: ContainerStatus,
  { onto = false }: { onto?: boolean } = {},
): boolean {
  if (from === to) return true;
  const kind = transitions[from][to];
  return kind === "onto" ? onto : kind !== undefined;
}

/** What a record may become from here, for a hint. */
export function nextStatuses(from: ContainerStatus): ContainerStatus[] {
  return containerStatuses.filter((to) => to !== from && mayBecome(from, to));
}

/** Nothing will happen to it any more by itself. */
export function isTerminal(status: ContainerStatus): boolean {
  return status === "completed" || status === "failed";
}
