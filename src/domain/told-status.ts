import type { ContainerRecord } from "./generated/swarm-state.ts";

/**
 * Returns the status that the worker's adapter reported. If only the later proof failed, this is `completed`,
 * although the record says `failed`.
 */
export function adapterReportedStatus({ status, reason }: ContainerRecord): ContainerRecord["status"] {
  return status === "failed" && reason?.code === "PROOF_FAILED" ? "completed" : status;
}
