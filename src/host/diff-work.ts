import { openQuarantine } from "./quarantine.ts";

export interface WorkToDiff {
  readonly base: string;
  readonly tip: string;
  /** Only which files, and how much of them. */
  readonly stat: boolean;
}

/**
 * What changed between two commits of the repository with this common folder, as git says it by its own means: nobody's
 * settings, filters or attributes count, and no program is started.
 */
export async function* diffWork(
  commonFolder: string,
  { base, tip, stat }: WorkToDiff,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using quarantine = await openQuarantine(commonFolder, signal);
  const room = await quarantine.room("theirs");
  yield* room.stream([
    // Comparing the lines of huge files takes minutes and tells nothing.
    ...["-c", "core.bigFileThreshold=8m", "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color"],
    ...["--find-renames", "-l400", ...(stat ? ["--stat=100,70"] : ["--patch"])],
    ...["--end-of-options", base, tip],
  ]);
}
