import type { FileHandle } from "node:fs/promises";
import { showBytes, showDuration } from "../domain/duration.ts";
import { type GitEnded, type GitStart, gitFailure, startGit } from "./start-git.ts";

export interface GitRun extends GitStart {
  /** Bytes; or a file, from where its handle stands. */
  readonly input?: Uint8Array | FileHandle;
  readonly mostBytes?: number;
}

export interface GitEnd extends GitEnded {
  readonly output: Buffer;
  /** It had more to say than `mostBytes`, and was ended. */
  readonly isCut: boolean;
}

const longestAnswer = 256 * 1024 * 1024;

/** Runs git with an argument array and nothing that asks. Ends with the signal by throwing its reason. */
export async function runGit(
  args: readonly string[],
  { input, mostBytes = longestAnswer, ...start }: GitRun,
): Promise<GitEnd> {
  const stdin = input === undefined ? "ignore" : input instanceof Uint8Array ? "pipe" : input.fd;
  const { child, ended, stop } = startGit(args, { ...start, stdin });
  const pieces: Buffer[] = [];
  let length = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    pieces.push(chunk.subarray(0, Math.max(0, mostBytes - length)));
    length += chunk.length;
    if (length > mostBytes) stop();
  });
  // It may end before it has read everything; how it ended is what counts.
  child.stdin?.on("error", () => {});
  if (input instanceof Uint8Array) child.stdin?.end(input);

  const end = await ended;
  start.signal?.throwIfAborted();
  const output = Buffer.concat(pieces);
  const isCut = length > mostBytes;
  if (!isCut && !end.isTimedOut) return { ...end, output, isCut };
  const reason = isCut ? `its answer is longer than ${showBytes(mostBytes)}` : lateReason(start);
  return { ...end, exitCode: undefined, output, isCut, reason };
}

function lateReason({ limitMs = 0 }: GitStart): string {
  return `it took longer than ${showDuration(limitMs)}`;
}

export interface GitStream extends GitStart {
  /** Called where git takes longer than it may; without it that is a failure. */
  readonly onLate?: (() => void) | undefined;
}

/** What git writes, as it comes; GIT_FAILED in the end where it failed. Whoever stops reading ends it. */
export async function* streamGit(
  args: readonly string[],
  { onLate, ...start }: GitStream,
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
  if (isTimedOut) throw gitFailure(args, lateReason(start));
  if (exitCode !== 0) throw gitFailure(args, reason);
}
