import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { Containers } from "../../engine/containers.ts";
import { resolveContainerPath } from "../../engine/rules/container-path.ts";
import { SwarmError } from "../../errors/errors.ts";
import { runCommand } from "../command/run-command.ts";
import type { ProjectSandboxDeps } from "../project-sandboxes.ts";
import { parseSandboxPath } from "../rules/sandbox-path.ts";
import { findRunningSandbox } from "../running-sandbox.ts";
import { listArchiveEntries } from "./list-archive-entries.ts";
import { copyFilesIntoSandbox, copyPathOutOfSandbox } from "./sandbox-files.ts";

export interface CopyRequest {
  /** The path of the source: a path on this machine, or `<sandbox>:<path>`. */
  readonly from: string;
  readonly to: string;
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
    const { containers, containerId } = await findRunningSandbox(deps, source.sandbox, signal);
    const path = resolveContainerPath("/work", source.path, { absolute: source.path.startsWith("/") });
    const into = await freePath(place, basename(path));
    await copyPathOutOfSandbox(containers, { id: containerId, path, into, leaveOut: false }, signal);
    return { from, to: into };
  }
  const { sandbox, path } = target ?? { sandbox: null, path: "" };
  const here = await resolveLocal(folder, from);
  const found = await listArchiveEntries(here);
  const { containers, containerId } = await findRunningSandbox(deps, sandbox, signal);
  const there = resolveContainerPath("/work", path, { absolute: path.startsWith("/") });
  // Chooses the target as `cp` does: if the path is an existing folder, the copy goes into the folder; else
  // the path is the copy's new name.
  const isFolder =
    path === "" || path.endsWith("/") || (await isFolderIn(containers, containerId, there, signal));
  const [into, name] = isFolder ? [there, basename(here)] : [dirname(there), basename(there)];
  const files = isFolder ? found : await listArchiveEntries(here, name);
  await copyFilesIntoSandbox(containers, { id: containerId, into, files }, signal);
  return { from, to: `${into}/${name}` };
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

async function isFolderIn(
  containers: Containers,
  containerId: string,
  path: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const request = {
    containerId,
    command: ["sh", "-c", '[ -d "$1" ]', "sh", path],
    timeoutMs: 30_000,
    outputLimit: 100,
  };
  return (await runCommand(containers, request, signal)).exitCode === 0;
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
