import { openQuarantine } from "./quarantine.ts";

interface WorkToDiff {
  readonly base: string;
  readonly tip: string;
  /** Whether to show only the names of the changed files, with the numbers of changed lines. */
  readonly stat: boolean;
}

/**
 * Streams git's diff between two commits. Git ignores the settings, filters and attributes of the user and
 * the repository, and starts no other program.
 */
export async function* diffWork(
  commonFolder: string,
  { base, tip, stat }: WorkToDiff,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using quarantine = await openQuarantine(commonFolder, signal);
  const repo = await quarantine.openRepo("theirs");
  yield* repo.stream([
    // To compare the lines of huge files takes minutes and is of no use.
    ...["-c", "core.bigFileThreshold=8m", "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color"],
    ...["--find-renames", "-l400", ...(stat ? ["--stat=100,70"] : ["--patch"])],
    ...["--end-of-options", base, tip],
  ]);
}
