import type { Lock } from "../machine/lock.ts";
import type { Project } from "../project/project.ts";
import {
  findPendingCommands,
  type OwnerCommand,
  stateWithOwnerCommand,
} from "../state/rules/owner-commands.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { homeVolumeName } from "../state/rules/worker-names.ts";
import type { StateStore } from "../state/state-store-port.ts";
import { watchState } from "../state/watch-state.ts";

export interface SendCommandsToOwnerDeps {
  readonly store: Pick<StateStore, "update" | "read">;
  readonly owner: Pick<Lock, "holder">;
  /** Calls `onChange` whenever the state of the swarm may have changed, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
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
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const poll = async (): Promise<void> => {
    if (!isAnyPending(await store.read(), commands)) resolve(true);
    else if ((await owner.holder()) === null) resolve(false);
  };
  // Polls in addition to watching the state file: an owner that is killed changes no file.
  const timer = setInterval(() => void poll().catch(reject), 1_000);
  watch(() => void poll().catch(reject), either);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    done.abort();
    signal.removeEventListener("abort", abort);
  }
}

/** Sends commands to the owner of this worktree's swarm, as `sendCommandsToOwner` does. */
export async function sendToOwner(
  project: Pick<Project, "state">,
  commands: readonly OwnerCommand[],
  signal: AbortSignal,
): Promise<boolean> {
  const file = await project.state.path();
  const watch: SendCommandsToOwnerDeps["watch"] = (onChange, ending) => watchState(file, onChange, ending);
  const deps = { store: await project.state.store(), owner: await project.state.owner(), watch };
  return sendCommandsToOwner(deps, commands, signal);
}

function isAnyPending(state: SwarmState, commands: readonly OwnerCommand[]): boolean {
  const open = findPendingCommands(state);
  return commands.some((command) =>
    open.some(
      (other) =>
        other.wish === command.wish &&
        (other.of === "swarm"
          ? command.of === "swarm"
          : command.of === "container" && isSameWorker(other, command)),
    ),
  );
}

interface Named {
  readonly name: string;
}

/**
 * Returns whether two container names belong to the same worker. The attempt number in the names may differ,
 * because the worker may have begun its next attempt meanwhile.
 */
function isSameWorker(one: Named, other: Named): boolean {
  return homeVolumeName(one.name) === homeVolumeName(other.name);
}
