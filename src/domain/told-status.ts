import type { ContainerRecord } from "./generated/swarm-state.ts";

/** The status that the worker's sandbox reported; a later proof can have changed it to failed. */
export function reportedStatus({ status, reason }: ContainerRecord): ContainerRecord["status"] {
  return status === "failed" && reason?.code === "PROOF_FAILED" ? "completed" : status;
}
