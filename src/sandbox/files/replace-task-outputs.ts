import { opendir, rename } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../../machine/remove-tree.ts";
import { BoundedList } from "../../text/bounded-list.ts";

/** The files that swarm collected from a sandbox into `outputs/` on the host. */
export interface CollectedOutputs {
  /** The paths of the first collected files, in alphabetical order. `more` is the number of further files. */
  readonly files: readonly string[];
  readonly more: number;
  /** The output paths that the spec expects, but that swarm did not find. */
  readonly missing: readonly string[];
}

/**
 * The names of swarm's own files in a sandbox's folder `outputs/`, which also contains the output files of
 * the sandbox's task.
 */
export const swarmOutputNames: readonly string[] = ["stdout.log", "stderr.log", "summary.json"];

const asideAs = (name: string): string => (swarmOutputNames.includes(name) ? `task-${name}` : name);

/**
 * The maximum number of a task's output files to list, and the maximum total length of their paths in
 * characters. A task may write a million files.
 */
const listed = { items: 10_000, characters: 1024 * 1024 };

/**
 * Moves the collected output files of a sandbox's task to the folder `outputs/`, and removes the files of an
 * earlier run. Reads folders entry by entry, because they may be large.
 */
export async function replaceTaskOutputs(
  outputs: string,
  collected: string,
  expected: readonly string[],
): Promise<CollectedOutputs> {
  for await (const name of namesIn(outputs))
    if (!swarmOutputNames.includes(name)) await removeTree(join(outputs, name));
  // A task's file with the name of one of swarm's own files gets the prefix `task-`, so that swarm's file
  // keeps its name.
  for await (const name of namesIn(collected))
    await rename(join(collected, name), join(outputs, asideAs(name)));
  await removeTree(collected);

  const files = new BoundedList<string>(listed);
  const missing = new Map(expected.map((path) => [asideAs(path), path]));
  for await (const file of filesBelow(outputs, "")) {
    if (swarmOutputNames.includes(file)) continue;
    files.add(file, file.length);
    // An expected folder counts as present if it contains a file.
    if (missing.size > 0)
      for (let end = file.length; end > 0; end = file.lastIndexOf("/", end - 1))
        missing.delete(file.slice(0, end));
  }
  return { files: files.items.sort(), more: files.more, missing: [...missing.values()] };
}

async function* namesIn(folder: string): AsyncGenerator<string> {
  for await (const { name } of await opendir(folder)) yield name;
}

async function* filesBelow(top: string, below: string): AsyncGenerator<string> {
  for await (const entry of await opendir(join(top, below))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isFile()) yield path;
    else if (entry.isDirectory()) yield* filesBelow(top, path);
  }
}
