import type { ContainerRecord } from "./generated/swarm-state.ts";

/** How a worker ended by the last word of its own sandbox: a proof comes after that. */
export function toldStatus({ status, reason }: ContainerRecord): ContainerRecord["status"] {
  return status === "failed" && reason?.code === "PROOF_FAILED" ? "completed" : status;
}
