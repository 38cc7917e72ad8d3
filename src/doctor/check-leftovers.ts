import type { Finding } from "../contract/doctor.ts";
import type { ContainerEngine, EngineWorktreeScope } from "../engine/engine.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { asFinding, finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about containers of the worktree that the state does not contain. */
export async function checkLeftovers(
  engine: Pick<ContainerEngine, "listContainers">,
  scope: EngineWorktreeScope,
  state: SwarmState | null,
  signal?: AbortSignal,
): Promise<Finding> {
  const known = new Set(state?.containers.map(({ containerName }) => containerName));
  return engine.listContainers(scope, signal).then(
    (containers) => {
      const strays = containers.filter(({ name }) => !known.has(name)).map(({ name }) => name);
      return strays.length === 0
        ? finding("leftovers", "good", "every container of this project has a record in the state file")
        : finding(
            "leftovers",
            "weak",
            `containers without a record: ${strays.join(", ")}`,
            "`swarm state repair` adds records of these containers.",
          );
    },
    asFinding("leftovers", "weak"),
  );
}
