import type { ContainerRecord } from "../../contract/swarm-state.ts";

/**
 * Returns the status that the worker's adapter reported. If the adapter reported `completed` and only the
 * later proof failed, the record says `failed`, but this function returns `completed`.
 */
export function adapterReportedStatus({ status, reason }: ContainerRecord): ContainerRecord["status"] {
  return status === "failed" && reason?.code === "PROOF_FAILED" ? "completed" : status;
}
