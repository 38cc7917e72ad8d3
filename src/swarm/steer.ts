import type { Project } from "../project/project.ts";
import { acquireSwarmOwnership } from "../state/acquire-ownership.ts";
import { requireSwarmState } from "../state/find-state.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { type OwnerCommand, stateWithoutOwnerCommand } from "../state/rules/owner-commands.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { sendToOwner } from "./send-to-owner.ts";
import { type SteeringCommand, steerUnownedSwarm } from "./steer-unowned.ts";

type SteerProject = Pick<Project, "engines" | "host" | "identity" | "repository" | "state">;

/**
 * Sends a command such as `stop` to the swarm's owner, or applies it directly if no owner runs. An empty
 * `workers` means all workers.
 */
export async function steerSwarm(
  project: SteerProject,
  command: SteeringCommand,
  workers: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly by: "owner" | "us" | "none"; readonly state: SwarmState }> {
  const state = await requireSwarmState(project);
  const chosen = workers.length > 0 ? findWorkersByArguments(state, workers) : state.containers;
  const names = chosen
    .filter(({ status }) => !isTerminalStatus(status))
    .map((record) => record.containerName);
  if (names.length === 0) return { by: "none", state };
  const commands: OwnerCommand[] =
    workers.length === 0
      ? [{ of: "swarm", wish: command }]
      : names.map((name) => ({ of: "container", name, wish: command }));
  if (await sendToOwner(project, commands, signal))
    return { by: "owner", state: await requireSwarmState(project) };
  await using _ownership = await acquireSwarmOwnership(await project.state.owner());
  const engine = await project.engines.started(state.engine?.endpoint ?? null);
  const { containers } = await engine.open();
  const store = await project.state.store();
  await store.update((now) => commands.reduce(stateWithoutOwnerCommand, now));
  const deps = { store, containers, clock: project.host.clock, signal };
  return { by: "us", state: await steerUnownedSwarm(deps, command, names) };
}
