import type { ContainerWish, SwarmState, SwarmWish } from "../../contract/swarm-state.ts";
import { findRecord, requireRecord, stateWithReplacedRecord } from "./swarm-state.ts";

/** A command from the user to the swarm's owner, for the whole swarm or for one worker. */
export type OwnerCommand =
  | { readonly of: "swarm"; readonly wish: NonNullable<SwarmWish> }
  | { readonly of: "container"; readonly name: string; readonly wish: NonNullable<ContainerWish> };

/** Stores the user's command in the state file, where the owner reads it. */
export function stateWithOwnerCommand(state: SwarmState, command: OwnerCommand): SwarmState {
  return command.of === "swarm"
    ? { ...state, wish: command.wish }
    : stateWithReplacedRecord(state, { ...requireRecord(state, command.name), wish: command.wish });
}

/** Returns all of the user's commands in the state file that the owner has not carried out yet. */
export function findPendingCommands(state: SwarmState): OwnerCommand[] {
  const ofContainers = state.containers.flatMap(({ containerName, wish }): OwnerCommand[] =>
    wish ? [{ of: "container", name: containerName, wish }] : [],
  );
  return state.wish ? [{ of: "swarm", wish: state.wish }, ...ofContainers] : ofContainers;
}

/**
 * Removes a command from the state file after the owner has carried it out, unless a newer command has
 * replaced it.
 */
export function stateWithoutOwnerCommand(state: SwarmState, command: OwnerCommand): SwarmState {
  if (command.of === "swarm") return state.wish === command.wish ? { ...state, wish: null } : state;
  const record = findRecord(state, command.name);
  return record?.wish === command.wish ? stateWithReplacedRecord(state, { ...record, wish: null }) : state;
}
