import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import type { Containers } from "../engine/containers.ts";
import { isError } from "../errors/errors.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { recordWithStatus, stateWithReplacedRecord } from "../state/rules/swarm-state.ts";
import type { StateStore } from "../state/state-store-port.ts";

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
  if (command === "stop" && isThere) await ifStillThere(containers.stop(name, { graceMs }, signal));
  if (command === "pause" && facts?.state === "running") await ifStillThere(containers.pause(name, signal));
  if (command === "unpause" && facts?.state === "paused")
    await ifStillThere(containers.unpause(name, signal));
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

async function ifStillThere(acting: Promise<void>): Promise<void> {
  await acting.catch((error: unknown) => {
    if (!isError(error, "CONTAINER_NOT_RUNNING") && !isError(error, "CONTAINER_GONE")) throw error;
  });
}
