import { randomBytes } from "node:crypto";
import { SwarmError } from "../domain/errors.ts";
import { BoundedList } from "../domain/first-of-many.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { OpenEngine } from "../ports/engine.ts";
import type { CollectedOutputs } from "../ports/sandbox-folders.ts";
import type { ProjectSandboxes } from "./project-sandboxes.ts";
import { copyPathOut } from "./sandbox-files.ts";

/** The result of a collection. Each list holds its first entries; `more` counts the rest. */
export interface CollectedFiles {
  readonly outputFiles: readonly string[];
  readonly missingOutputs: readonly string[];
  /** Links, devices and unprintable names, each with the reason: these never leave a sandbox. */
  readonly leftOut: readonly string[];
  /** Paths that could not be copied, or not completely: files, folders, `/work` or `/outputs` itself. */
  readonly missed: readonly string[];
  readonly more: { readonly outputFiles: number; readonly leftOut: number; readonly missed: number };
  /** The first paths whose only copy is in the sandbox. */
  readonly stillInside: readonly string[];
  /** The part of `missed` that lies in `/outputs`; null if nothing there was missed. */
  readonly outputsMissed: { readonly first: string; readonly count: number } | null;
}

type Folder = "work" | "outputs";

const maxMs = 60 * 60_000;
const listed = { items: 100, characters: 100_000 };

/**
 * Copies `/work` and `/outputs` of a sandbox into its folder on this machine, as far as they can be read, and reports the rest.
 * A folder that cannot be read at all keeps its earlier copy.
 */
export async function collectFiles(
  { folders }: Pick<ProjectSandboxes, "folders">,
  { containers }: OpenEngine,
  {
    record,
    containerId,
    names = ["work", "outputs"],
  }: {
    readonly record: SandboxRecord;
    readonly containerId: string;
    readonly names?: readonly Folder[];
  },
  signal?: AbortSignal,
): Promise<CollectedFiles> {
  const leftOut = new BoundedList<string>(listed);
  const missed = new BoundedList<string>(listed);
  const stillInside: string[] = [];
  const add = (list: BoundedList<string>, text: string): void => list.add(text, text.length);

  const take = async (name: Folder): Promise<string | null> => {
    const into = folders.pathFor(record.id, `.${name}-${randomBytes(4).toString("hex")}`);
    const limit = new AbortController();
    const facts = { command: `bringing out /${name}`, limitMs: maxMs };
    const timer = setTimeout(() => limit.abort(new SwarmError("COMMAND_TIMEOUT", facts)), maxMs);
    try {
      const copied = await copyPathOut(
        containers,
        { id: containerId, path: `/${name}`, into, leaveOut: true },
        signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      );
      for (const { kind, path, reason } of copied.leftOut) {
        add(kind === "barred" ? leftOut : missed, `${path}: ${reason}`);
        if (kind === "missed") stillInside.push(`${path}: ${reason}`);
      }
      leftOut.more += copied.more.barred;
      missed.more += copied.more.missed + copied.more.torn;
      return into;
    } catch (error) {
      if (!(error instanceof SwarmError) || error.code === "ENGINE_UNREACHABLE") throw error;
      add(missed, `/${name}: ${error.message}`);
      stillInside.push(`/${name}: ${error.message}`);
      return null;
    } finally {
      clearTimeout(timer);
    }
  };

  // Outputs first, so that they get the first places in the bounded lists.
  const outputs = await take("outputs");
  const [first] = missed.items;
  const outputsMissed = first === undefined ? null : { first, count: missed.items.length + missed.more };
  const placed: CollectedOutputs = outputs
    ? await folders.replaceOutputs(record.id, outputs, record.expectedOutputs)
    : { files: [], more: 0, missing: record.expectedOutputs };
  const work = names.includes("work") ? await take("work") : null;
  if (work) await folders.replaceWork(record.id, work);
  return {
    ...{ outputFiles: placed.files, missingOutputs: placed.missing, outputsMissed, stillInside },
    ...{ leftOut: leftOut.items, missed: missed.items },
    more: { outputFiles: placed.more, leftOut: leftOut.more, missed: missed.more },
  };
}
