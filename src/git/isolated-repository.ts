import { mkdirSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../errors/system-errors.ts";
import { areNearbyAncestors } from "./nearby-ancestor.ts";
import { createGitObjectReader, type GitObjectReader } from "./object-reader.ts";
import {
  type GitResult,
  type GitRunOptions,
  type GitStreamOptions,
  runGit,
  streamGit,
  withSettings,
} from "./run-git.ts";
import { createGitError } from "./start-git.ts";

/**
 * The maximum size of one memory allocation by git. Protects against a delta that unpacks to gigabytes, or a
 * header that claims millions of objects.
 */
const maxMemory = "1g";

/**
 * Arguments for git with which git starts no other program, ignores the user's attributes file, and flushes
 * every write to disk.
 */
export const safeGitArguments: readonly string[] = withSettings(
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  "core.fsync=all",
  "core.attributesFile=/dev/null",
  "core.quotePath=false",
  // Wait for the lock of a ref, because other processes hold it for milliseconds only.
  "core.filesRefLockTimeout=5000",
  "core.packedRefsTimeout=5000",
);

export const safeGitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_CONFIG_PARAMETERS: "",
  GIT_CONFIG_COUNT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_GRAFT_FILE: "/nonexistent",
  GIT_ALLOC_LIMIT: maxMemory,
};

interface IsolatedGitRunOptions extends Pick<GitRunOptions, "input" | "env" | "maxBytes" | "limitMs"> {
  /**
   * The exit codes that `git` accepts, by default only 0. After any other exit code, `git` throws GIT_FAILED.
   */
  readonly expectedExitCodes?: readonly number[];
}

/**
 * A temporary bare repository that can read the objects of the user's repository, but has none of its refs,
 * hooks and settings.
 */
export interface IsolatedRepository {
  readonly folder: string;
  /**
   * Runs git in the isolated repository and returns git's exit code and output. Does not throw if git fails.
   */
  run(args: readonly string[], run?: Omit<IsolatedGitRunOptions, "expectedExitCodes">): Promise<GitResult>;
  /**
   * Runs git in the isolated repository and returns git's exit code and output. Throws GIT_FAILED if
   * `expectedExitCodes` does not contain the exit code.
   */
  git(
    args: readonly string[],
    run?: IsolatedGitRunOptions,
  ): Promise<{ readonly exitCode: number; readonly output: Buffer; readonly isCut: boolean }>;
  text(args: readonly string[], run?: Omit<IsolatedGitRunOptions, "expectedExitCodes">): Promise<string>;
  /** Runs git in the isolated repository and streams git's output, without a limit on the output's size. */
  stream(
    args: readonly string[],
    run?: Pick<GitStreamOptions, "limitMs" | "onLate">,
  ): AsyncIterable<Uint8Array>;
  readonly objects: GitObjectReader;
}

const usualLimitMs = 10 * 60_000;

/**
 * Creates a bare repository that ignores the user's settings. `newObjects` says where git writes new objects:
 * into the bare repository (`"own"`) or into the user's repository (`"theirs"`).
 */
export async function createIsolatedRepo(
  folder: string,
  { commonFolder, newObjects }: { readonly commonFolder: string; readonly newObjects: "own" | "theirs" },
  signal?: AbortSignal,
): Promise<IsolatedRepository> {
  const objects = join(commonFolder, "objects");
  // Not `git init`, which would read templates. Synchronous writes suffice for a few small files.
  mkdirSync(join(folder, "objects", "info"), { recursive: true });
  mkdirSync(join(folder, "objects", "pack"));
  mkdirSync(join(folder, "refs"));
  writeFileSync(join(folder, "HEAD"), "ref: refs/heads/none\n");
  writeFileSync(
    join(folder, "config"),
    "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n[pack]\n\tthreads = 2\n",
  );
  writeFileSync(join(folder, "objects", "info", "alternates"), `${quoted(objects)}\n`);
  // In a shallow clone, git needs this file to know where the history is cut off.
  await copyFile(join(commonFolder, "shallow"), join(folder, "shallow")).catch(ifMissing(undefined));

  const base: Readonly<Record<string, string>> = {
    ...safeGitEnvironment,
    GIT_DIR: folder,
    ...(newObjects === "theirs" && { GIT_OBJECT_DIRECTORY: objects }),
  };
  const always = { folder, env: base, limitMs: usualLimitMs, signal };
  const run: IsolatedRepository["run"] = (args, { env, limitMs = usualLimitMs, ...rest } = {}) =>
    runGit([...safeGitArguments, ...args], { folder, ...rest, limitMs, signal, env: { ...base, ...env } });
  const git: IsolatedRepository["git"] = async (args, { expectedExitCodes = [0], ...rest } = {}) => {
    const { exitCode, output, reason, isCut } = await run(args, rest);
    // If the caller set a limit, cut output is a valid answer, too.
    if (isCut && rest.maxBytes !== undefined) return { exitCode: 0, output, isCut };
    if (exitCode === undefined || !expectedExitCodes.includes(exitCode)) throw createGitError(args, reason);
    return { exitCode, output, isCut };
  };
  return {
    folder,
    run,
    git,
    text: async (args, options) => (await git(args, options)).output.toString(),
    stream: (args, options) => streamGit([...safeGitArguments, ...args], { ...always, ...options }),
    objects: createGitObjectReader(safeGitArguments, always),
  };
}

/** Returns whether `ancestor` is `commit` itself or one of its ancestors. */
export async function isAncestor(
  repo: IsolatedRepository,
  ancestor: string,
  commit: string,
): Promise<boolean> {
  if (await areNearbyAncestors(repo.objects, [ancestor], commit)) return true;
  const args = ["merge-base", "--is-ancestor", ancestor, commit];
  return (await repo.git(args, { expectedExitCodes: [0, 1] })).exitCode === 0;
}

/** Returns whether all of these IDs are IDs of commits that the repository has. */
export async function areCommits(repo: IsolatedRepository, ids: readonly string[]): Promise<boolean> {
  return (await repo.objects.readFacts(ids)).every((facts) => facts?.type === "commit");
}

/** Quotes a path for git's file `objects/info/alternates`, so that the path may contain any characters. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}
