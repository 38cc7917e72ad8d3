import { formatBytes } from "../../src/text/duration-and-size.ts";
import { truncateText } from "../../src/text/truncate-text.ts";
import { runProgramAsAgentUser } from "../machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { requireExitCode } from "../machine/program-end.ts";
import { type Git, GitFailure } from "./git.ts";
import { shell } from "./work-folder.ts";

/**
 * The limits on the files that a task may add or change: their number, their total size, and the size of one
 * file. Sizes are in bytes.
 */
export interface ChangedFilesLimits {
  readonly workFiles: number;
  readonly workBytes: number;
  readonly workFileBytes: number;
}

/** Thrown when the new and changed files exceed the limits on what a task may commit. */
export class ChangedFilesTooLargeError extends Error {
  /**
   * The paths of the files that the adapter must leave out so that it can commit the others. If the list is
   * empty, the adapter commits no changes at all.
   */
  readonly pathsToLeaveOut: readonly string[];

  constructor(message: string, without: readonly string[] = []) {
    super(message);
    this.name = "WorkTooLarge";
    this.pathsToLeaveOut = without;
  }
}

export interface CheckChangedFilesDeps {
  readonly folder: string;
  readonly git: Pick<Git, "commandLine">;
  readonly limit: StartCommandTimeLimit;
  /**
   * The commit from which the task's branch started. Files that are unchanged since that commit do not count
   * towards the limits.
   */
  readonly base: string;
  readonly workLimits: ChangedFilesLimits;
}

/**
 * The maximum number of top folders, and of too large files, that the adapter remembers to name them in an
 * error message.
 */
const maxNamed = 50;
const blockBytes = 512;

/**
 * Throws `ChangedFilesTooLargeError` if the new and changed files exceed the task's limits. Uses only file sizes and
 * reads no contents, so that even a sparse file of a terabyte is fast to check.
 */
export async function checkChangedFilesLimits(
  deps: CheckChangedFilesDeps,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  // Measures all files first: most whole repositories are within the limits, and then the sizes in the base commit are
  // not needed.
  if ((await measure(deps, env, null)) === null) return;
  const refusal = await measure(deps, env, await sizesIn(deps));
  if (refusal !== null) throw refusal;
}

/**
 * Returns an error if the files are too many or too large, else null. Ignores files whose size is the same as
 * in `sizeBefore`.
 */
async function measure(
  deps: CheckChangedFilesDeps,
  env: Readonly<Record<string, string>>,
  sizeBefore: ReadonlyMap<string, string> | null,
): Promise<ChangedFilesTooLargeError | null> {
  const { workFiles, workBytes, workFileBytes } = deps.workLimits;
  const countByTopFolder = new Map<string, number>();
  const large: Sized[] = [];
  let files = 0;
  let bytes = 0;
  let largest: Sized | null = null;
  const enough = new AbortController();
  await readRecords(
    deps,
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { script: printSizes, env },
    (record) => {
      const [, size = "", blocks = "", path = ""] = /^(\d+) (\d+) (.+)$/s.exec(record) ?? [];
      if (path === "" || sizeBefore?.get(path) === size || enough.signal.aborted) return;
      const file = { path, bytes: Number(size), diskBytes: Number(blocks) * blockBytes };
      files += 1;
      const topFolder = path.includes("/") ? `${path.split("/", 1)[0]}/` : "the repository's root folder";
      if (countByTopFolder.size < maxNamed || countByTopFolder.has(topFolder))
        countByTopFolder.set(topFolder, (countByTopFolder.get(topFolder) ?? 0) + 1);
      if (file.bytes > workFileBytes) large.push(file);
      else {
        bytes += file.bytes;
        if (largest === null || file.bytes > largest.bytes) largest = file;
      }
      if (files > workFiles || bytes > workBytes || large.length > maxNamed) enough.abort();
    },
    enough.signal,
  );
  if (files > workFiles) {
    const [topFolder = "", count = 0] = [...countByTopFolder].sort(([, a], [, b]) => b - a)[0] ?? [];
    return new ChangedFilesTooLargeError(
      `the story has more than ${workFiles} new or changed files, and ${count} of the first ${files} are in ${nameOf(topFolder)}: ${remedy("work.files")}`,
    );
  }
  if (bytes > workBytes)
    return new ChangedFilesTooLargeError(
      `the new and changed files have more than ${formatBytes(workBytes)} in total, and the largest is ${sizeOf(largest)}: ${remedy("work.size")}`,
    );
  const [first] = large;
  if (!first) return null;
  const others = large.length > 1 ? ` (and ${large.length - 1} more)` : "";
  return new ChangedFilesTooLargeError(
    `the file ${sizeOf(first)}${others} exceeds the limit of ${formatBytes(workFileBytes)} for one file: ${remedy("work.fileSize")}`,
    large.length > maxNamed ? [] : large.map(({ path }) => path),
  );
}

interface Sized {
  readonly path: string;
  readonly bytes: number;
  readonly diskBytes: number;
}

function sizeOf(file: Sized | null): string {
  if (file === null) return "";
  const isSparse = file.diskBytes < file.bytes / 2;
  const onDisk = isSparse ? ` (${formatBytes(file.diskBytes)} on the disk)` : "";
  return `${nameOf(file.path)} with ${formatBytes(file.bytes)}${onDisk}`;
}

/** Converts the raw bytes of a file's path to text, and shortens it for a message. */
function nameOf(path: string): string {
  return truncateText(Buffer.from(path, "latin1").toString(), 300);
}

const remedy = (setting: string): string =>
  `add to .gitignore the files that should not be committed, or raise the setting ${setting}`;

/** Reads the size of each file in the base commit. Each key of the map is a path as raw bytes. */
async function sizesIn(deps: CheckChangedFilesDeps): Promise<ReadonlyMap<string, string>> {
  const sizes = new Map<string, string>();
  const list = ["ls-tree", "-r", "-l", "-z", "--full-tree", deps.base];
  await readRecords(deps, list, { script: runAsIs, env: {} }, (record) => {
    const tab = record.indexOf("\t");
    const size = record.slice(0, tab).split(/ +/)[3];
    if (size !== undefined) sizes.set(record.slice(tab + 1), size);
  });
  return sizes;
}

const runAsIs = '"$@"';
/**
 * A shell script that prints the size of each listed file, except missing files and files with too long
 * names. Uses `find`, because gVisor refuses the system call of `stat`.
 */
const printSizes = `"$@" | find -files0-from - -maxdepth 0 -printf '%s %b %p\\0'`;

/**
 * Runs a git command that prints a list of records, and calls `onRecord` for each. Stops at the end of the
 * list, or when `enough` aborts.
 */
async function readRecords(
  { folder, git, limit }: CheckChangedFilesDeps,
  list: readonly string[],
  more: { readonly script: string; readonly env: Readonly<Record<string, string>> },
  onRecord: (record: string) => void,
  enough?: AbortSignal,
): Promise<void> {
  const { command, env } = git.commandLine(list);
  using limited = limit();
  let rest = "";
  const onOutput = (piece: Buffer): void => {
    const records = (rest + piece.toString("latin1")).split("\0");
    rest = records.pop() ?? "";
    for (const record of records) onRecord(record);
  };
  const result = await runProgramAsAgentUser(
    {
      command: shell(more.script, ...command),
      env: { ...env, ...more.env },
      folder,
      maxOutputLength: 1_000,
      onOutput,
      deadline: limited.signal,
    },
    enough,
  );
  if (enough?.aborted) return;
  if (result.end.kind === "deadline") throw new GitFailure(list, result);
  requireExitCode(`git ${list[0]}`, result);
}
