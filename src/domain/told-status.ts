import type { ContainerRecord } from "./generated/swarm-state.ts";

/**
 * Returns the status that the worker's sandbox reported. The record may say `failed` instead, if a later
 * proof failed.
 */
export function reportedStatus({ status, reason }: ContainerRecord): ContainerRecord["status"] {
  return status === "failed" && reason?.code === "PROOF_FAILED" ? "completed" : status;
}
