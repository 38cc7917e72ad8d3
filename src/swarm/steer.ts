import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import type { Containers } from "../engine/containers.ts";
import type { Project } from "../project/project.ts";
import { acquireSwarmOwnership } from "../state/acquire-ownership.ts";
import { requireSwarmState } from "../state/find-state.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { type OwnerCommand, stateWithoutOwnerCommand } from "../state/rules/owner-commands.ts";
import { recordWithStatus, stateWithReplacedRecord } from "../state/rules/swarm-state.ts";
import type { StateStore } from "../state/state-store.ts";
import { sendToOwner } from "./send-to-owner.ts";
import { ifContainerRuns } from "./worker/pause-worker.ts";

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

export type SteeringCommand = "stop" | "pause" | "unpause";

export interface SteerUnownedDeps {
  readonly store: Pick<StateStore, "update" | "read">;
  readonly containers: Pick<Containers, "inspect" | "stop" | "pause" | "unpause">;
  readonly clock: () => Date;
  readonly signal: AbortSignal;
}

const graceMs = 10_000;

/**
 * Stops, pauses or unpauses workers of a swarm that no process owns. The caller must hold the owner's lock,
 * so that no process becomes the owner meanwhile.
 */
export async function steerUnownedSwarm(
  deps: SteerUnownedDeps,
  command: SteeringCommand,
  names: readonly string[],
): Promise<SwarmState> {
  const targets = (await deps.store.read()).containers.filter(
    ({ containerName, status }) => names.includes(containerName) && !isTerminalStatus(status),
  );
  const failures: unknown[] = [];
  // Continues with the other workers if the command fails for one worker.
  for (const record of targets)
    await steer(deps, command, record).catch((error: unknown) => void failures.push(error));
  if (failures.length > 0) throw failures[0];
  return deps.store.read();
}

async function steer(
  { store, containers, clock, signal }: SteerUnownedDeps,
  command: SteeringCommand,
  { containerName: name }: ContainerRecord,
): Promise<void> {
  const facts = await containers.inspect(name, undefined, signal);
  const isThere = facts?.state === "running" || facts?.state === "paused";
  if (command === "stop" && facts?.state === "paused") await containers.unpause(name, signal);
  if (command === "stop" && isThere) await ifContainerRuns(containers.stop(name, { graceMs }, signal));
  if (command === "pause" && facts?.state === "running")
    await ifContainerRuns(containers.pause(name, signal));
  if (command === "unpause" && facts?.state === "paused")
    await ifContainerRuns(containers.unpause(name, signal));
  const now = clock();
  await store.update((state) => {
    const record = state.containers.find(({ containerName }) => containerName === name);
    return record && !isTerminalStatus(record.status)
      ? stateWithReplacedRecord(state, steered(record, command, now))
      : state;
  });
}

function steered(record: ContainerRecord, command: SteeringCommand, now: Date): ContainerRecord {
  const at = now.toISOString();
  switch (command) {
    case "stop": {
      const reason = { code: "INTERRUPTED", message: "the user stopped the worker" };
      return { ...recordWithStatus(record, "stopped", reason, now), paused: null, acpPid: null };
    }
    case "pause":
      return {
        ...record,
        paused: { reason: "the user paused the worker", since: record.paused?.since ?? at, until: null },
      };
    case "unpause":
      // Keeps the pause with its end. The next owner reports its length to the adapter when it attaches to
      // the worker.
      return record.status === "running" && record.paused
        ? { ...record, paused: { ...record.paused, until: at } }
        : { ...record, paused: null };
  }
}
