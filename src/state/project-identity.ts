import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ProjectRef } from "../contract/swarm-state.ts";
import { machineId } from "../engine/read-machine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import { slugOfTaskFile } from "../text/slugs.ts";

/**
 * The identity of a project. It stays the same when branches or remotes are renamed. A copy of the project's
 * folder gets an identity of its own.
 */
export interface ProjectIdentity {
  /** The ID of the project, 32 hexadecimal digits. */
  readonly id: string;
}

interface IdFile {
  readonly version: 1;
  readonly id: string;
  readonly commonFolder: string;
  readonly machine: string;
}

export interface ProjectIdentityDeps {
  /** The path of the git folder that all worktrees of the project share. */
  readonly commonFolder: string;
  /** The ID of this machine. */
  readonly machine: string;
}

/**
 * Reads the project's ID, or creates it at first use. Throws PROJECT_MOVED if the ID was created for another
 * folder or machine.
 */
async function readOrCreateProjectIdentity(deps: ProjectIdentityDeps): Promise<ProjectIdentity> {
  const file = idFileIn(deps.commonFolder);
  const here = await locationOf(deps);
  const found = (await readId(file)) ?? (await makeId(file, here));
  if (found.commonFolder !== here.commonFolder || found.machine !== here.machine) {
    throw new SwarmError("PROJECT_MOVED", { was: describe(found), is: describe(here) });
  }
  return { id: found.id };
}

/** Returns the ID, the name and the root folder of the project. Creates the ID at first use. */
export async function readProjectRef(repository: Repository, stateFolder: string): Promise<ProjectRef> {
  const { root } = repository;
  const { id } = await readOrCreateProjectIdentity(await projectLocation(repository, stateFolder));
  return { id, slug: slugOfTaskFile(basename(root)), root };
}

/** Returns where a project is: its git folder, and the machine with the user's state folder. */
export async function projectLocation(
  { commonFolder }: Pick<Repository, "commonFolder">,
  stateFolder: string,
): Promise<ProjectIdentityDeps> {
  return { commonFolder, machine: await machineId(stateFolder) };
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
  deps: ProjectIdentityDeps,
  kind: "moved" | "copied",
  knownId?: string,
): Promise<void> {
  const file = idFileIn(deps.commonFolder);
  const [found, here] = [await readId(file).catch(nullIfDamaged), await locationOf(deps)];
  if (found?.commonFolder === here.commonFolder && found.machine === here.machine) return;
  if (
    kind === "moved" &&
    found?.machine === here.machine &&
    (await readId(idFileIn(found.commonFolder)).catch(nullIfDamaged))?.id === found.id
  ) {
    throw new SwarmError("PROJECT_COPIED", { original: found.commonFolder });
  }
  const id = kind === "moved" ? (found?.id ?? knownId) : undefined;
  const temporary = await writeId(file, { version: 1, id: id ?? newId(), ...here });
  await rename(temporary, file);
}

function idFileIn(commonFolder: string): string {
  return join(commonFolder, "aimi", "id");
}

async function locationOf({
  commonFolder,
  machine,
}: ProjectIdentityDeps): Promise<Omit<IdFile, "version" | "id">> {
  return { commonFolder: await realpath(commonFolder), machine };
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
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { id, commonFolder, machine } = (typeof found === "object" && found !== null ? found : {}) as Record<
    string,
    unknown
  >;
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
async function makeId(file: string, location: Omit<IdFile, "version" | "id">): Promise<IdFile> {
  const made: IdFile = { version: 1, id: newId(), ...location };
  const temporary = await writeId(file, made);
  try {
    await link(temporary, file);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const other = await readId(file);
    if (other) return other;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

function nullIfDamaged(error: unknown): null {
  if (isError(error, "FILE_FAILED")) return null;
  throw error;
}

async function writeId(file: string, made: IdFile): Promise<string> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(
    temporary,
    `${JSON.stringify(made)}
`,
    { flag: "wx" },
  );
  return temporary;
}

function newId(): string {
  return randomBytes(16).toString("hex");
}

function describe({ commonFolder, machine }: Omit<IdFile, "version" | "id">): string {
  return `${commonFolder} (machine ${machine.slice(0, 8)})`;
}
