import { randomBytes } from "node:crypto";
import { rename } from "node:fs/promises";
import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { ConnectedEngine } from "../../engine/engine.ts";
import { SwarmError } from "../../errors/errors.ts";
import { removeTree } from "../../machine/remove-tree.ts";
import { BoundedList } from "../../text/bounded-list.ts";
import { type CollectedOutputs, replaceTaskOutputs } from "../files/replace-task-outputs.ts";
import { copyPathOutOfSandbox } from "../files/sandbox-files.ts";
import type { TarErrorMessage } from "../files/tar-errors.ts";
import type { ProjectSandboxDeps } from "../open-project-sandboxes.ts";

/**
 * The result of copying a sandbox's files to this machine. Each list is truncated; `more` counts the entries
 * that a list leaves out.
 */
export interface CollectedSandboxFiles {
  readonly outputFiles: readonly string[];
  readonly missingOutputs: readonly string[];
  /**
   * The skipped paths, each with the reason: swarm never copies links, devices and unprintable names out of a
   * sandbox.
   */
  readonly leftOut: readonly string[];
  /**
   * The files and folders that swarm could not copy completely, each with the reason. The list may contain
   * `/work` or `/outputs` itself.
   */
  readonly missed: readonly string[];
  readonly more: { readonly outputFiles: number; readonly leftOut: number; readonly missed: number };
  /** The first paths that swarm could not copy, so that the only copy is still in the sandbox. */
  readonly stillInside: readonly string[];
  /**
   * The first file or folder in `/outputs` that swarm could not copy completely, and their number; null if
   * there are none.
   */
  readonly outputsMissed: { readonly first: string; readonly count: number } | null;
}

const maxMs = 60 * 60_000;
const listed = { items: 100, characters: 100_000 };

/**
 * Copies the folders `/work` and `/outputs` of a sandbox into the sandbox's folder on this machine. If a
 * folder cannot be read at all, the previous copy of it stays.
 */
export async function collectSandboxFiles(
  { folders }: Pick<ProjectSandboxDeps, "folders">,
  { containers }: ConnectedEngine,
  {
    record,
    containerId,
    withWork = true,
  }: { readonly record: SandboxRecord; readonly containerId: string; readonly withWork?: boolean },
  signal?: AbortSignal,
): Promise<CollectedSandboxFiles> {
  const leftOut = new BoundedList<string>(listed);
  const missed = new BoundedList<string>(listed);
  const stillInside: string[] = [];
  const add = (path: string, reason: string, kind: TarErrorMessage["kind"] = "missed"): void => {
    const text = `${path}: ${reason}`;
    (kind === "barred" ? leftOut : missed).add(text, text.length);
    if (kind === "missed") stillInside.push(text);
  };

  const take = async (name: "work" | "outputs"): Promise<string | null> => {
    const into = folders.pathFor(record.id, `.${name}-${randomBytes(4).toString("hex")}`);
    const limit = new AbortController();
    const facts = { command: `copying /${name} out of the sandbox`, limitMs: maxMs };
    const timer = setTimeout(() => limit.abort(new SwarmError("COMMAND_TIMEOUT", facts)), maxMs);
    try {
      const copied = await copyPathOutOfSandbox(
        { containers, containerId },
        { path: `/${name}`, into, leaveOut: true },
        signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      );
      for (const { path, reason, kind } of copied.leftOut) add(path, reason, kind);
      leftOut.more += copied.more.barred;
      missed.more += copied.more.missed + copied.more.torn;
      return into;
    } catch (error) {
      if (!(error instanceof SwarmError) || error.code === "ENGINE_UNREACHABLE") throw error;
      add(`/${name}`, error.message);
      return null;
    } finally {
      clearTimeout(timer);
    }
  };

  // Copies the outputs first, so that problems with outputs get the first places in the bounded lists.
  const outputs = await take("outputs");
  const [first] = missed.items;
  const outputsMissed = first === undefined ? null : { first, count: missed.items.length + missed.more };
  const placed: CollectedOutputs = outputs
    ? await replaceTaskOutputs(folders.pathFor(record.id, "outputs"), outputs, record.expectedOutputs)
    : { files: [], more: 0, missing: record.expectedOutputs };
  const work = withWork ? await take("work") : null;
  if (work) {
    const kept = folders.pathFor(record.id, "work");
    await removeTree(kept);
    await rename(work, kept);
  }
  return {
    outputFiles: placed.files,
    missingOutputs: placed.missing,
    outputsMissed,
    stillInside,
    leftOut: leftOut.items,
    missed: missed.items,
    more: { outputFiles: placed.more, leftOut: leftOut.more, missed: missed.more },
  };
}
