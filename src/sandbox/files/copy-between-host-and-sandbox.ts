import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { resolveContainerPath } from "../../engine/rules/container-path.ts";
import { SwarmError } from "../../errors/errors.ts";
import { shellCommand } from "../command/in-container-scripts.ts";
import { type CommandContainer, runCommand } from "../command/run-command.ts";
import {
  openProjectSandboxes,
  type ProjectSandboxDeps,
  type SandboxProject,
} from "../open-project-sandboxes.ts";
import { findRunningSandbox } from "../running-sandbox.ts";
import { listArchiveEntries } from "./list-archive-entries.ts";
import { copyFilesIntoSandbox, copyPathOutOfSandbox } from "./sandbox-files.ts";

interface CopyRequest {
  /** The path of the source: a path on this machine, or `<sandbox>:<path>`. */
  readonly from: string;
  readonly to: string;
}

/** Copies files between the user's current folder and a sandbox, and returns the paths. */
export async function copySandboxFiles(
  project: SandboxProject,
  request: CopyRequest,
  signal: AbortSignal,
): Promise<CopyRequest> {
  return copyBetweenHostAndSandbox(await openProjectSandboxes(project), request, project.host, signal);
}

/**
 * Copies files from this machine to a sandbox, or from a sandbox to this machine. Exactly one of the two
 * paths must name a sandbox.
 */
export async function copyBetweenHostAndSandbox(
  deps: ProjectSandboxDeps,
  { from, to }: CopyRequest,
  { folder }: { readonly folder: string },
  signal?: AbortSignal,
): Promise<CopyRequest> {
  const [source, target] = [parseSandboxPath(from), parseSandboxPath(to)];
  if ((source === null) === (target === null))
    throw new SwarmError("USAGE", {
      message: "exactly one of the two paths must be in a sandbox, written as id:/path or :/path",
    });
  if (source) {
    const place = await resolveLocal(folder, to);
    const container = await findRunningSandbox(deps, source.sandbox, signal);
    const path = resolveContainerPath("/work", source.path, { absolute: source.path.startsWith("/") });
    const into = await freePath(place, basename(path));
    await copyPathOutOfSandbox(container, { path, into, leaveOut: false }, signal);
    return { from, to: into };
  }
  const { sandbox, path } = target ?? { sandbox: null, path: "" };
  const here = await resolveLocal(folder, from);
  const found = await listArchiveEntries(here);
  const container = await findRunningSandbox(deps, sandbox, signal);
  const there = resolveContainerPath("/work", path, { absolute: path.startsWith("/") });
  // Chooses the target as `cp` does: if the path is an existing folder, the copy goes into the folder; else
  // the path is the copy's new name.
  const isFolder = path === "" || path.endsWith("/") || (await isFolderIn(container, there, signal));
  const [into, name] = isFolder ? [there, basename(here)] : [dirname(there), basename(there)];
  const files = isFolder ? found : await listArchiveEntries(here, name);
  await copyFilesIntoSandbox(container, { into, files }, signal);
  return { from, to: `${into}/${name}` };
}

/**
 * Parses the location of a file in a sandbox: `id:/path`, or `:/path` for the latest sandbox. Returns null
 * for a path on this machine.
 */
function parseSandboxPath(text: string): { readonly sandbox: string | null; readonly path: string } | null {
  const [, sandbox, path] = /^([A-Za-z0-9_-]*):(.*)$/s.exec(text) ?? [];
  if (path === undefined) return null;
  return { sandbox: sandbox || null, path };
}

/**
 * Resolves the symbolic links in a path that the user typed. Throws if the path is in the working folder, but
 * a symbolic link leads out of it: an agent may have made the link.
 */
async function resolveLocal(folder: string, named: string): Promise<string> {
  const path = resolve(folder, named);
  const [real, root] = await Promise.all([nearestRealPath(path), nearestRealPath(folder)]);
  if (isBelow(path, folder) && !isBelow(real, root))
    throw new SwarmError("FILE_FAILED", {
      file: path,
      reason: `a symbolic link on this path leads out of the working folder; to use its target, name ${real}`,
    });
  return real;
}

/**
 * Resolves the symbolic links in a path. If the path does not exist, resolves the links in the nearest parent
 * folder that exists.
 */
async function nearestRealPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(await nearestRealPath(above), basename(path));
  }
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function isFolderIn(container: CommandContainer, path: string, signal?: AbortSignal): Promise<boolean> {
  const command = shellCommand('[ -d "$1" ]', path);
  const { exitCode } = await runCommand(container, { command, timeoutMs: 30_000, outputLimit: 100 }, signal);
  return exitCode === 0;
}

/**
 * Returns the destination path of a copy: `to/name` if `to` is a folder, else `to`. Throws if the destination
 * already exists, because swarm never overwrites the user's files.
 */
async function freePath(to: string, name: string): Promise<string> {
  const stats = await stat(to).catch(() => null);
  const into = stats?.isDirectory() ? join(to, name) : to;
  if (await stat(into).catch(() => null))
    throw new SwarmError("FILE_FAILED", { file: into, reason: "the destination already exists" });
  return into;
}
