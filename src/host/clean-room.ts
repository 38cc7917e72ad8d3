import { mkdirSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { type ObjectReader, objectReader } from "./object-reader.ts";
import { type GitEnd, type GitRun, type GitStream, runGit, streamGit } from "./run-git.ts";
import { seenNearby } from "./walk-back.ts";

/** What git may take in memory at once: neither a delta that unfolds to gigabytes nor a claim of millions of objects gets it. */
const mostMemory = "1g";

/** Nothing that git could start, nobody's settings, and what is said to be written is on the disk. */
export const safeArguments: readonly string[] = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"],
  ...["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsync=all"],
  ...["-c", "core.attributesFile=/dev/null", "-c", "core.quotePath=false"],
  // Whoever else moves a ref at this moment has it done in milliseconds.
  ...["-c", "core.filesRefLockTimeout=5000", "-c", "core.packedRefsTimeout=5000"],
];

export const safeEnvironment: Readonly<Record<string, string>> = {
  ...{ GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_ATTR_NOSYSTEM: "1" },
  ...{ GIT_CONFIG_PARAMETERS: "", GIT_CONFIG_COUNT: "0", GIT_NO_LAZY_FETCH: "1" },
  ...{ GIT_GRAFT_FILE: "/nonexistent", GIT_ALLOC_LIMIT: mostMemory },
};

export interface RoomRun extends Pick<GitRun, "input" | "env" | "mostBytes" | "limitMs"> {
  /** Exit codes that are answers. Others are GIT_FAILED. */
  readonly answers?: readonly number[];
}

/** A bare repository of ours over somebody's objects: it has no ref, no hook and no setting of theirs. */
export interface CleanRoom {
  readonly folder: string;
  /** Whatever the end is. */
  run(args: readonly string[], run?: Omit<RoomRun, "answers">): Promise<GitEnd>;
  /** Its output, and its exit code where that is the answer. */
  git(
    args: readonly string[],
    run?: RoomRun,
  ): Promise<{ readonly exitCode: number; readonly output: Buffer; readonly isCut: boolean }>;
  text(args: readonly string[], run?: Omit<RoomRun, "answers">): Promise<string>;
  /** Its output as it comes, however much it is. */
  stream(args: readonly string[], run?: Pick<GitStream, "limitMs" | "onLate">): AsyncIterable<Uint8Array>;
  readonly objects: ObjectReader;
}

const usualLimitMs = 10 * 60_000;

/**
 * Makes the room as files, at once since they are few and small: `git init` would read templates. `own`: new objects stay in here, and the repository's can be read;
 * `theirs`: they go to the repository.
 */
export async function makeCleanRoom(
  folder: string,
  { commonFolder, newObjects }: { readonly commonFolder: string; readonly newObjects: "own" | "theirs" },
  signal?: AbortSignal,
): Promise<CleanRoom> {
  const objects = join(commonFolder, "objects");
  mkdirSync(join(folder, "objects", "info"), { recursive: true });
  mkdirSync(join(folder, "objects", "pack"));
  mkdirSync(join(folder, "refs"));
  writeFileSync(join(folder, "HEAD"), "ref: refs/heads/none\n");
  writeFileSync(
    join(folder, "config"),
    "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n[pack]\n\tthreads = 2\n",
  );
  writeFileSync(join(folder, "objects", "info", "alternates"), `${quoted(objects)}\n`);
  // Where a history ends before its beginning, git must know it.
  await copyFile(join(commonFolder, "shallow"), join(folder, "shallow")).catch(forgiveMissing);

  const base: Readonly<Record<string, string>> = {
    ...safeEnvironment,
    ...{ GIT_DIR: folder, ...(newObjects === "theirs" && { GIT_OBJECT_DIRECTORY: objects }) },
  };
  const always = { folder, env: base, limitMs: usualLimitMs, signal };
  const run: CleanRoom["run"] = (args, { env, limitMs = usualLimitMs, ...rest } = {}) =>
    runGit([...safeArguments, ...args], { folder, ...rest, limitMs, signal, env: { ...base, ...env } });
  const git: CleanRoom["git"] = async (args, { answers = [0], ...rest } = {}) => {
    const { exitCode, output, reason, isCut } = await run(args, rest);
    // What is cut on purpose is an answer as well.
    if (isCut && rest.mostBytes !== undefined) return { exitCode: 0, output, isCut };
    if (exitCode === undefined || !answers.includes(exitCode))
      throw new SwarmError("GIT_FAILED", { command: args[0] ?? "", reason });
    return { exitCode, output, isCut };
  };
  return {
    ...{ folder, run, git },
    text: async (args, options) => (await git(args, options)).output.toString(),
    stream: (args, options) => streamGit([...safeArguments, ...args], { ...always, ...options }),
    objects: objectReader(safeArguments, always),
  };
}

/** Whether one commit is the other or among its ancestors. */
export async function isAncestor(room: CleanRoom, ancestor: string, commit: string): Promise<boolean> {
  if (await seenNearby(room.objects, [ancestor], commit)) return true;
  const asked = await room.git(["merge-base", "--is-ancestor", ancestor, commit], { answers: [0, 1] });
  return asked.exitCode === 0;
}

/** Whether each of them is one of the commits that are here. */
export async function areCommits(room: CleanRoom, ids: readonly string[]): Promise<boolean> {
  return (await room.objects.about(ids)).every((facts) => facts?.type === "commit");
}

/** As git reads it back in a list of alternates, whatever the path is made of. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

function forgiveMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
