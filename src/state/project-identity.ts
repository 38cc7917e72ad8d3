import { randomBytes } from "node:crypto";
import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ProjectRef } from "../contract/swarm-state.ts";
import { machineId } from "../engine/read-machine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { isSystemError } from "../errors/system-errors.ts";
import type { Repository } from "../git/find-repository.ts";
import { createFileDurably, writeFileDurably } from "../machine/durable-write.ts";
import { slugOfTaskFile } from "../text/slugs.ts";

/** Where a project is. */
export interface ProjectLocation {
  /** The real path of the git folder that all worktrees of the project share. */
  readonly commonFolder: string;
  /** The ID of this machine. */
  readonly machine: string;
}

interface IdFile extends ProjectLocation {
  readonly version: 1;
  readonly id: string;
}

/**
 * Returns the ID, the name and the root folder of the project. Creates the ID at first use. Throws
 * PROJECT_MOVED if the ID was created for another folder or machine.
 */
export async function readProjectRef(repository: Repository, stateFolder: string): Promise<ProjectRef> {
  const { root } = repository;
  const here = await projectLocation(repository, stateFolder);
  const file = idFileIn(here.commonFolder);
  const found = (await readId(file)) ?? (await makeId(file, here));
  if (!isSameLocation(found, here))
    throw new SwarmError("PROJECT_MOVED", { was: describe(found), is: describe(here) });
  return { id: found.id, slug: slugOfTaskFile(basename(root)), root };
}

/** Returns where a project is: its git folder, and the machine with the user's state folder. */
export async function projectLocation(
  { commonFolder }: Pick<Repository, "commonFolder">,
  stateFolder: string,
): Promise<ProjectLocation> {
  return { commonFolder: await realpath(commonFolder), machine: await machineId(stateFolder) };
}

/**
 * Throws PROJECT_MOVED if a state belongs to another project. Its author could have named an engine that the
 * author controls.
 */
export function refuseOtherProject(
  state: { readonly project: { readonly id: string } } | null,
  id: string,
): void {
  if (state && state.project.id !== id)
    throw new SwarmError("PROJECT_MOVED", { was: `project ${state.project.id}`, is: `project ${id}` });
}

/** Returns whether an ID was already created for the project. */
export async function hasProjectIdentity(commonFolder: string): Promise<boolean> {
  return (await readId(idFileIn(commonFolder))) !== null;
}

/**
 * Records the project's present folder and machine in the ID file, unless they are recorded already. With
 * `moved`, the project keeps its ID; with `copied`, it gets a new one. Throws PROJECT_COPIED for `moved` if
 * the original folder still has the same ID.
 */
export async function rebindProjectIdentity(
  here: ProjectLocation,
  kind: "moved" | "copied",
  knownId?: string,
): Promise<void> {
  const file = idFileIn(here.commonFolder);
  const found = await readId(file).catch(nullIfDamaged);
  if (found && isSameLocation(found, here)) return;
  if (
    kind === "moved" &&
    found?.machine === here.machine &&
    (await readId(idFileIn(found.commonFolder)).catch(nullIfDamaged))?.id === found.id
  ) {
    throw new SwarmError("PROJECT_COPIED", { original: found.commonFolder });
  }
  const id = kind === "moved" ? (found?.id ?? knownId) : undefined;
  await mkdir(dirname(file), { recursive: true });
  await writeFileDurably(file, textOf({ version: 1, id: id ?? newId(), ...here }));
}

function idFileIn(commonFolder: string): string {
  return join(commonFolder, "aimi", "id");
}

/**
 * Reads the file with the project's ID; returns null if the file is missing. Throws FILE_FAILED if the file
 * is damaged.
 */
async function readId(file: string): Promise<IdFile | null> {
  let found: unknown;
  try {
    const { size } = await stat(file);
    found = size < 10_000 ? JSON.parse(await readFile(file, "utf8")) : null;
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return null;
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { id, commonFolder, machine } = Object(found) as Readonly<Record<string, unknown>>;
  if (
    typeof id === "string" &&
    /^[0-9a-f]{32}$/.test(id) &&
    typeof commonFolder === "string" &&
    typeof machine === "string"
  ) {
    return { version: 1, id, commonFolder, machine };
  }
  throw new SwarmError("FILE_FAILED", {
    file,
    reason: "the file is damaged; `swarm state repair --moved` creates the file again from the state",
  });
}

/**
 * Creates the file with the project's ID. If two processes try it at the same time, `link` succeeds for only
 * one of them, and the other process uses the ID in the file that now exists.
 */
async function makeId(file: string, location: ProjectLocation): Promise<IdFile> {
  const made: IdFile = { version: 1, id: newId(), ...location };
  await mkdir(dirname(file), { recursive: true });
  const found = (await createFileDurably(file, textOf(made))) ? made : await readId(file);
  if (!found) throw new SwarmError("FILE_FAILED", { file, reason: "a link at this path leads nowhere" });
  return found;
}

function nullIfDamaged(error: unknown): null {
  if (isError(error, "FILE_FAILED")) return null;
  throw error;
}

function textOf(made: IdFile): string {
  return `${JSON.stringify(made)}\n`;
}

function newId(): string {
  return randomBytes(16).toString("hex");
}

function isSameLocation(one: ProjectLocation, other: ProjectLocation): boolean {
  return one.commonFolder === other.commonFolder && one.machine === other.machine;
}

function describe({ commonFolder, machine }: ProjectLocation): string {
  return `${commonFolder} (machine ${machine.slice(0, 8)})`;
}
