import type { FileHandle } from "node:fs/promises";
import { formatBytes, formatDuration } from "../text/duration-and-size.ts";
import { createGitError, type GitExit, type GitStartOptions, startGit } from "./start-git.ts";

export interface GitRunOptions extends GitStartOptions {
  /**
   * The input for git's stdin: bytes, or an open file, which git reads from the file handle's present
   * position.
   */
  readonly input?: Uint8Array | FileHandle;
  readonly maxBytes?: number;
}

export interface GitResult extends GitExit {
  readonly output: Buffer;
  /** Whether swarm stopped git because git's output exceeded `maxBytes`. */
  readonly isCut: boolean;
}

const defaultMaxBytes = 256 * 1024 * 1024;

/**
 * Runs git without a shell and without prompts, and collects its output. Throws the abort reason if `signal`
 * aborts.
 */
export async function runGit(
  args: readonly string[],
  { input, maxBytes = defaultMaxBytes, ...start }: GitRunOptions,
): Promise<GitResult> {
  const stdin = input === undefined ? "ignore" : input instanceof Uint8Array ? "pipe" : input.fd;
  const { child, ended, stop } = startGit(args, { ...start, stdin });
  const pieces: Buffer[] = [];
  let length = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    pieces.push(chunk.subarray(0, Math.max(0, maxBytes - length)));
    length += chunk.length;
    if (length > maxBytes) stop();
  });
  // Ignore write errors: git may end before it has read all input, and then its exit code decides.
  child.stdin?.on("error", () => {});
  if (input instanceof Uint8Array) child.stdin?.end(input);

  const end = await ended;
  start.signal?.throwIfAborted();
  const output = Buffer.concat(pieces);
  const isCut = length > maxBytes;
  if (!isCut && !end.isTimedOut) return { ...end, output, isCut };
  const reason = isCut ? `the output of git is longer than ${formatBytes(maxBytes)}` : lateReason(start);
  return { ...end, exitCode: undefined, output, isCut, reason };
}

/** Runs git as `runGit` does and returns its output. Throws GIT_FAILED if git fails. */
export async function gitOutput(args: readonly string[], options: GitRunOptions): Promise<Buffer> {
  const { exitCode, output, reason } = await runGit(args, options);
  if (exitCode !== 0) throw createGitError(args, reason);
  return output;
}

/** Returns the arguments that give git these settings, for example `core.quotePath=false`. */
export function withSettings(...settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ["-c", setting]);
}

function lateReason({ limitMs = 0 }: GitStartOptions): string {
  return `git took longer than ${formatDuration(limitMs)}`;
}

export interface GitStreamOptions extends GitStartOptions {
  /**
   * Called if git exceeds its time limit. Without this callback, `streamGit` throws GIT_FAILED on a timeout.
   */
  readonly onLate?: (() => void) | undefined;
}

/**
 * Runs git and yields its output in chunks. If git failed, throws GIT_FAILED after the last chunk. If the
 * caller stops reading, stops git.
 */
export async function* streamGit(
  args: readonly string[],
  { onLate, ...start }: GitStreamOptions,
): AsyncGenerator<Uint8Array> {
  const { child, ended, stop } = startGit(args, { ...start, stdin: "ignore" });
  let isRead = false;
  try {
    for await (const chunk of child.stdout ?? []) yield chunk;
    isRead = true;
  } finally {
    if (!isRead) stop();
    await ended;
  }
  start.signal?.throwIfAborted();
  const { exitCode, reason, isTimedOut } = await ended;
  if (isTimedOut && onLate) return onLate();
  if (isTimedOut) throw createGitError(args, lateReason(start));
  if (exitCode !== 0) throw createGitError(args, reason);
}
