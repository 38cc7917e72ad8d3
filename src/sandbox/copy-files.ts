import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { containerPath } from "../domain/container-path.ts";
import { SwarmError } from "../domain/errors.ts";
import { sandboxRef } from "../domain/sandbox-ref.ts";
import type { Containers } from "../ports/containers.ts";
import { filesBelow } from "./files-below.ts";
import type { ProjectSandboxes } from "./project-sandboxes.ts";
import { runCommand } from "./run-command.ts";
import { copyFilesIn, copyPathOut } from "./sandbox-files.ts";
import { findSandbox, useSandbox } from "./use-sandbox.ts";

export interface CopyWords {
  /** A path here, or `sandbox:/path` there. */
  readonly from: string;
  readonly to: string;
}

/** Copies between this machine and a sandbox, in the direction that the words say. */
export async function copyFiles(
  deps: ProjectSandboxes,
  { from, to }: CopyWords,
  { folder }: { readonly folder: string },
  signal?: AbortSignal,
): Promise<CopyWords> {
  const [source, target] = [sandboxRef(from), sandboxRef(to)];
  if ((source === null) === (target === null))
    throw new SwarmError("USAGE", {
      message: "one of the two paths must be in a sandbox, written id:/path or :/path, and the other one not",
    });
  if (source) {
    const { containers, containerId } = await useSandbox(
      deps,
      await findSandbox(deps, source.sandbox),
      signal,
    );
    const path = containerPath("/work", source.path, { absolute: source.path.startsWith("/") });
    const into = await freePath(resolve(folder, to), basename(path));
    await copyPathOut(containers, { id: containerId, path, into, leaveOut: false }, signal);
    return { from, to: into };
  }
  const { sandbox, path } = target ?? { sandbox: null, path: "" };
  const here = await realpath(resolve(folder, from)).catch(() => resolve(folder, from));
  const found = await filesBelow(here);
  const { containers, containerId } = await useSandbox(deps, await findSandbox(deps, sandbox), signal);
  const there = containerPath("/work", path, { absolute: path.startsWith("/") });
  // As people know it from `cp`: into a folder that is there, else under the name that was given.
  const isFolder =
    path === "" || path.endsWith("/") || (await isFolderIn(containers, containerId, there, signal));
  const [into, name] = isFolder ? [there, basename(here)] : [dirname(there), basename(there)];
  const files = isFolder ? found : await filesBelow(here, name);
  await copyFilesIn(containers, { id: containerId, into, files }, signal);
  return { from, to: `${into}/${name}` };
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

/** Into a folder that is there, or as a name that is not: nothing of the user's is written over. */
async function freePath(to: string, name: string): Promise<string> {
  const stats = await stat(to).catch(() => null);
  const into = stats?.isDirectory() ? join(to, name) : to;
  if (await stat(into).catch(() => null))
    throw new SwarmError("FILE_FAILED", { file: into, reason: "something is there already" });
  return into;
}
