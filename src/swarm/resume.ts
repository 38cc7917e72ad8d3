import { SwarmError } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import { requireSwarmState } from "../state/find-state.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { ownSwarm } from "./own.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "./owner-request.ts";

/** Continues the unfinished workers of this worktree's swarm. */
export async function resumeSwarm(
  project: Project,
  request: OwnerRequest,
  report: SwarmRunCallbacks,
): Promise<SwarmState> {
  const { swarmId, containers } = await requireSwarmState(project);
  if (containers.length === 0) throw new SwarmError("WORKERS_MISSING", { swarmId });
  return ownSwarm(project, { ...request, works: [] }, report);
}
