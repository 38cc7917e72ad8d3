import { type ChildProcess, spawn } from "node:child_process";
import { SwarmError } from "../errors/errors.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/**
 * The variables to remove from git's environment. If a git hook calls swarm, git has set these variables, and
 * they would direct swarm's own git commands to another repository.
 */
const elsewhere: Readonly<Record<string, undefined>> = Object.fromEntries(
  [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_QUARANTINE_PATH",
    "GIT_PREFIX",
  ].map((name) => [name, undefined]),
);

const always = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  LC_ALL: "C",
};

export interface GitStartOptions {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

interface StartedGit {
  readonly child: ChildProcess;
  /** Resolves when git has ended and its stdout and stderr are closed. */
  readonly ended: Promise<GitExit>;
  /** Sends SIGTERM to git, and SIGKILL if git still runs after a grace period. */
  stop(): void;
}

export interface GitExit {
  /** Git's exit code, or undefined if git was stopped or could not start. */
  readonly exitCode: number | undefined;
  /** The signal that ended git; null if git exited by itself or could not start. */
  readonly endedBy: NodeJS.Signals | null;
  /** The reason to show to the user if git failed, usually git's stderr without control characters. */
  readonly reason: string;
  readonly isTimedOut: boolean;
}

/** The grace period between SIGTERM and SIGKILL, in milliseconds. */
const killAfterMs = 5_000;
const maxComplaintLength = 64 * 1024;

const running = new Set<ChildProcess>();

/** Kills the git processes that this process has started and that still run. Called when this process exits. */
export function killRunningGit(): void {
  for (const git of running) git.kill();
}

/**
 * Starts git with Node's `spawn`, because a swarm starts git about twenty times for each worker. The overhead
 * of a library would double the owner's CPU time for each start.
 */
export function startGit(
  args: readonly string[],
  { folder, env, limitMs, signal, stdin }: GitStartOptions & { readonly stdin: "ignore" | "pipe" | number },
): StartedGit {
  signal?.throwIfAborted();
  const child = spawn("git", args, {
    cwd: folder,
    stdio: [stdin, "pipe", "pipe"],
    env: { ...process.env, ...always, ...elsewhere, ...env },
  });
  running.add(child);
  const complaints: Buffer[] = [];
  let length = 0;
  child.stderr?.on("data", (chunk: Buffer) => {
    if (length < maxComplaintLength) complaints.push(chunk);
    length += chunk.length;
  });

  let forced: NodeJS.Timeout | undefined;
  const stop = (): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    forced ??= setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  };
  let isTimedOut = false;
  const timeOut = (): void => {
    isTimedOut = true;
    stop();
  };
  const limit = limitMs === undefined ? undefined : setTimeout(timeOut, limitMs);
  signal?.addEventListener("abort", stop);

  const { promise: ended, resolve } = Promise.withResolvers<GitExit>();
  const end = (
    { exitCode, endedBy }: Pick<GitExit, "exitCode" | "endedBy">,
    failure: string | null = null,
  ): void => {
    running.delete(child);
    clearTimeout(limit);
    clearTimeout(forced);
    signal?.removeEventListener("abort", stop);
    const own = sanitizeText(Buffer.concat(complaints).toString().trim(), 400);
    const how = endedBy === null ? `exit ${exitCode}` : `git was ended by the signal ${endedBy}`;
    resolve({ exitCode, endedBy, isTimedOut, reason: failure ?? (own || how) });
  };
  child.once("error", (error: NodeJS.ErrnoException) =>
    end(
      { exitCode: undefined, endedBy: null },
      error.code === "ENOENT" ? "git is not installed" : error.message,
    ),
  );
  child.once("close", (exitCode, endedBy) => end({ exitCode: exitCode ?? undefined, endedBy }));
  return { child, ended, stop };
}

/**
 * Returns whether git crashed because of its input, which SIGSEGV, SIGBUS or SIGABRT shows. SIGTERM or
 * SIGKILL is no crash: the user, swarm or the kernel (out of memory) sends it.
 */
export function hasGitCrashed({ endedBy }: GitExit): boolean {
  return endedBy !== null && ["SIGSEGV", "SIGBUS", "SIGABRT"].includes(endedBy);
}

/** Creates a GIT_FAILED error that names the git subcommand in these arguments. */
export function createGitError(args: readonly string[], reason: string): SwarmError {
  const command = args.find((word) => /^[a-z][a-z-]*$/.test(word)) ?? "";
  return new SwarmError("GIT_FAILED", { command, reason });
}
