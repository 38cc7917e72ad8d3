import type { Lock } from "../machine/locks/lock.ts";
import type { Project } from "../project/project.ts";
import {
  findPendingCommands,
  type OwnerCommand,
  stateWithOwnerCommand,
} from "../state/rules/owner-commands.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { homeVolumeName } from "../state/rules/worker-container-name.ts";
import type { StateStore } from "../state/state-store.ts";
import { watchState } from "../state/watch-state.ts";
import { pollSwarm, type WatchSwarm } from "./poll-swarm.ts";

export interface SendCommandsToOwnerDeps {
  readonly store: Pick<StateStore, "update" | "read">;
  readonly owner: Pick<Lock, "holder">;
  readonly watch: WatchSwarm;
}

/**
 * Writes commands for the owner into the state, and waits until the owner has applied them. Returns false if
 * there is no owner, or if the owner ends before it has applied them.
 */
export async function sendCommandsToOwner(
  { store, owner, watch }: SendCommandsToOwnerDeps,
  commands: readonly OwnerCommand[],
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  if ((await owner.holder()) === null) return false;
  await store.update((state) => commands.reduce(stateWithOwnerCommand, state));
  const answer = Promise.withResolvers<boolean>();
  const poll = async (): Promise<void> => {
    if (!isAnyPending(await store.read(), commands)) answer.resolve(true);
    else if ((await owner.holder()) === null) answer.resolve(false);
  };
  return pollSwarm(answer, poll, watch, signal);
}

/** Sends commands to the owner of this worktree's swarm, as `sendCommandsToOwner` does. */
export async function sendToOwner(
  project: Pick<Project, "state">,
  commands: readonly OwnerCommand[],
  signal: AbortSignal,
): Promise<boolean> {
  const file = await project.state.path();
  const watch: WatchSwarm = (onChange, ending) => watchState(file, onChange, ending);
  const deps = { store: await project.state.store(), owner: await project.state.owner(), watch };
  return sendCommandsToOwner(deps, commands, signal);
}

/**
 * Returns whether one of the commands is still in the state. The attempt number in a worker's name may differ,
 * because the worker may have begun its next attempt meanwhile.
 */
function isAnyPending(state: SwarmState, commands: readonly OwnerCommand[]): boolean {
  const keyOf = (command: OwnerCommand): string =>
    JSON.stringify([command.wish, command.of === "swarm" ? null : homeVolumeName(command.name)]);
  const open = new Set(findPendingCommands(state).map(keyOf));
  return commands.some((command) => open.has(keyOf(command)));
}
