import type { Finding } from "../contract/doctor.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { formatCount } from "../text/format-count.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the state of the worktree's swarm; null if there is none. */
export function checkState(state: SwarmState | null): Finding {
  const fact = state
    ? `swarm ${state.swarmId} with ${formatCount(state.containers.length, "container")}`
    : "no swarm in this worktree yet";
  return finding("state", "good", fact);
}
