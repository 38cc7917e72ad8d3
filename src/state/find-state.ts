import { join } from "node:path";
import type { ProjectRef } from "../contract/swarm-state.ts";
import type { EngineWorktreeScope } from "../engine/engine.ts";
import type { Engines } from "../engine/engines.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { Lock } from "../machine/locks/lock.ts";
import { summarizeHostJournal } from "../protocol/host-journal.ts";
import { workerSlug } from "../text/slugs.ts";
import {
  type CheckedState,
  type CheckStateDeps,
  compareStateWithEngine,
} from "./compare-state-with-engine.ts";
import type { OwnerStateWriter } from "./owner-state.ts";
import { hasProjectIdentity, refuseOtherProject } from "./project-identity.ts";
import type { SwarmState } from "./rules/swarm-state.ts";
import type { StateStore } from "./state-store.ts";

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

/** The parts of a project from which a command learns the state of this worktree's swarm. */
export interface StateAccess {
  readonly engines: Pick<Engines, "recorded">;
  repository(): Promise<Repository>;
  identity(): Promise<ProjectRef>;
  readonly state: Pick<ProjectState, "store" | "owner">;
}

/** Reads the swarm's state file, or returns null. Throws PROJECT_MOVED if it belongs to another project. */
export async function findSwarmState(project: StateAccess): Promise<SwarmState | null> {
  const state = await (await project.state.store()).find();
  if (!(await hasProjectIdentity((await project.repository()).commonFolder))) {
    if (state === null) return null;
    // The state file came with the repository, so the engine, workers and texts in it are not this user's.
    throw new SwarmError("PROJECT_MOVED", {
      was: `project ${state.project.id}`,
      is: "a folder in which swarm has stored no project id",
    });
  }
  const { id } = await project.identity();
  refuseOtherProject(state, id);
  // If there is no state file, asks the engine: containers of this project may still exist.
  return state ?? (await checkSwarmState(project)).state;
}

/** Reads the swarm's state file. Throws STATE_MISSING if there is none. */
export async function requireSwarmState(project: StateAccess): Promise<SwarmState> {
  return requireState(await findSwarmState(project));
}

/** Returns what was read from the swarm's state. Throws STATE_MISSING if there was no state. */
export function requireState<Found extends object>(found: Found | null): Found {
  if (!found) throw new SwarmError("STATE_MISSING", { file: ".aimi/swarm-state.json" });
  return found;
}

/** Compares the swarm's records with the containers in the engine. */
export async function checkSwarmState(project: StateAccess): Promise<CheckedState> {
  const scope = await worktreeScope(project);
  return compareStateWithEngine(await stateCheckDeps(project), scope);
}

/** Returns what a comparison of records with containers reads. */
export async function stateCheckDeps(project: StateAccess): Promise<CheckStateDeps> {
  const { root } = await project.repository();
  return {
    store: await project.state.store(),
    owner: await project.state.owner(),
    findEngine: project.engines.recorded,
    readJournal: (swarmId, worker) =>
      summarizeHostJournal(join(root, ".aimi", "swarms", swarmId, workerSlug(worker))),
  };
}

/** Returns the labels' values by which the engine's containers of this worktree are found. */
export async function worktreeScope({
  identity,
  repository,
}: Pick<StateAccess, "identity" | "repository">): Promise<EngineWorktreeScope> {
  return { projectId: (await identity()).id, worktree: (await repository()).worktree };
}
