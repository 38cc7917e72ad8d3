import type { Lock } from "../machine/lock.ts";
import type { OwnerStateWriter } from "./owner-state.ts";
import type { StateStore } from "./state-store-port.ts";

/** The state of this worktree's swarm, as a command reaches it. */
export interface ProjectState {
  /** Returns the path of the state file. */
  path(): Promise<string>;
  store(): Promise<StateStore>;
  /** Returns the lock whose holder is the owner of the swarm. */
  owner(): Promise<Lock>;
  /** Opens the state for the owner, who writes it often. */
  openForOwner(): Promise<OwnerStateWriter>;
}
