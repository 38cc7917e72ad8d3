import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Project } from "../project/project.ts";
import { findSwarmState } from "../state/find-state.ts";
import { haveAllWorkersEnded } from "../state/rules/swarm-state.ts";
import { spawnOwner } from "./spawn-owner.ts";

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The path of the file to which the background owner writes its output. */
  readonly log: string;
}

/**
 * Runs a swarm command in a background process, and waits until the swarm of this command has begun.
 * `planned` are the checksums of the task files that this process planned.
 */
export async function detachOwner(
  project: Pick<Project, "engines" | "identity" | "repository" | "state">,
  words: readonly string[],
  planned: readonly string[],
): Promise<DetachedOwner> {
  const known = await findSwarmState(project);
  const swarmId = known && !haveAllWorkersEnded(known) ? known.swarmId : randomUUID();
  const log = join((await project.repository()).root, ".aimi", "swarms", swarmId, "owner.log");
  const [verb = "", ...rest] = words;
  const checksums = planned.flatMap((each) => ["--planned", each]);
  const own = ["own", verb, "--swarm-id", swarmId, "--progress", "plain", ...checksums, ...rest];
  const { pid, begun } = await spawnOwner(own, log);
  return { pid, swarmId: begun ?? swarmId, log };
}
