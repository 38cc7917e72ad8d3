import { type EntryToPack, packFiles } from "../../archive/pack-files.ts";
import type { RanCheck } from "../../contract/merge.ts";
import type { ContainerLimits, Containers } from "../../engine/containers.ts";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { CommitReader } from "../../git/commit-reader-port.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import { type CommandResult, runCommand } from "../../sandbox/command/run-command.ts";
import { mainProcessUser } from "../../sandbox/sandbox-defaults.ts";
import { watchSandboxLimits } from "../../sandbox/task/watch-limits.ts";
import { sanitizeLines, sanitizeText } from "../../text/sanitize-text.ts";
import { truncateTextStart } from "../../text/truncate-text.ts";

/** The sandboxes in which swarm checks commits. */
export interface CheckSandboxes {
  readonly containers: Containers;
  readonly commits: Pick<CommitReader, "bundle">;
  /** The tag of the project's image, from which swarm creates the sandbox for the check. */
  readonly image: string;
  /** The commit that is checked out in the image's workspace folder. */
  readonly imageCommit: string | null;
  /** Returns whether the given commit is in the git history of the image's workspace folder. */
  readonly isInImage: (commit: string) => Promise<boolean>;
  readonly runtime: string;
  readonly limits: ContainerLimits;
  readonly labels: Readonly<Record<string, string>>;
  readonly crashPoint: CrashHook;
}

/** The maximum duration of each check command in milliseconds. Users would not wait longer for tests. */
const limitMs = 60 * 60_000;
const tmpBytes = 1024 ** 3;
const [undoMs, checkoutMs] = [30_000, 10 * 60_000];
const outputLimit = 1_000_000;
const shownLength = 2_000;
const bundleFile = "aimi-check/commit.bundle";
/**
 * The time in milliseconds for which the sandbox continues after the longest possible check. If swarm is
 * killed, the sandbox then ends by itself.
 */
const graceMs = 5 * 60_000;

/**
 * A shell script that checks out the commit in the sandbox. It disables git hooks, so that files of the
 * commit cannot make git run a program.
 */
const checkOut = `
set -eu
cd /workspace
if [ -f "$2" ]; then git -c core.hooksPath=/dev/null fetch --quiet "$2" '+refs/heads/check:refs/aimi/check'; fi
git -c core.hooksPath=/dev/null -c advice.detachedHead=false checkout --quiet --force --detach "$1"
git clean -fdq`;

/**
 * A shell script that kills the processes that a check's command left running. It spares process 1 and the
 * sandbox's `sleep`, because the sandbox would end with them.
 */
const endOthers = `
for folder in /proc/[0-9]*; do
  pid=\${folder#/proc/}
  case $pid in 1|$$) continue ;; esac
  [ "$(tr '\\0' ' ' 2>/dev/null < "$folder/cmdline")" = "sleep $1 " ] || kill -KILL "$pid" 2>/dev/null
done
:`;

/**
 * Checks out a commit in a new sandbox without an agent and without a network, and runs commands there, one
 * after another. Removes the sandbox afterwards. Concurrent checks need different names of the sandbox.
 */
export async function checkCommit(
  sandboxes: CheckSandboxes,
  name: string,
  commit: string,
  commands: readonly string[],
  signal: AbortSignal,
): Promise<RanCheck[]> {
  const { containers, image, runtime, limits, labels } = sandboxes;
  // Removes the sandbox of an earlier check with this name, whose swarm process was killed. Such a sandbox
  // holds no work.
  await containers.remove(name, signal);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => containers.remove(name, AbortSignal.timeout(undoMs)).catch(() => {}));
  const seconds = Math.ceil((commands.length * limitMs + checkoutMs + graceMs) / 1_000);
  const { id } = await containers.create(
    {
      name,
      labels,
      image,
      runtime,
      tmpBytes,
      command: ["sleep", String(seconds)],
      env: { IS_SANDBOX: "1" },
      user: mainProcessUser,
      workdir: "/",
      network: { kind: "none" },
      volumes: [],
      limits,
      capabilities: [],
      readOnlyRoot: false,
      privileged: false,
    },
    signal,
  );
  const run = (words: readonly string[], timeoutMs: number, ending = signal) =>
    runCommand(
      { containers, containerId: id },
      {
        command: ["sh", "-c", ...words],
        timeoutMs,
        outputLimit,
        workdir: "/workspace",
        env: { HOME: "/home/agent" },
      },
      ending,
    );
  await checkOutCommit(sandboxes, id, commit, run, signal);
  sandboxes.crashPoint("mid-check");
  // Enforces the limits that the engine does not enforce, because agents wrote the code that runs here.
  const done = new AbortController();
  const broken = new AbortController();
  const ending = AbortSignal.any([broken.signal, signal]);
  void watchSandboxLimits(
    { containers, containerId: id },
    { name, runtime, limits, mounted: [] },
    AbortSignal.any([done.signal, signal]),
  ).then(
    (reason) => broken.abort(reason),
    () => {},
  );
  const runOne = async (command: string): Promise<RanCheck> => {
    const startedAt = performance.now();
    const ended = (exitCode: number | null, output: string): RanCheck => ({
      exitCode,
      output,
      durationMs: Math.round(performance.now() - startedAt),
    });
    try {
      broken.signal.throwIfAborted();
      const ran = await run([command], limitMs, ending);
      return ended(ran.exitCode, textOf(ran));
    } catch (error) {
      if (broken.signal.aborted) return ended(null, shownMessageOf(broken.signal.reason));
      // A command that uses up the sandbox's memory or ends its container has failed. Aborts the commands
      // after it, which have no sandbox to run in.
      if (isError(error, "MEMORY_EXHAUSTED") || isError(error, "CONTAINER_NOT_RUNNING")) broken.abort(error);
      else if (!isError(error, "COMMAND_TIMEOUT")) throw error;
      return ended(null, shownMessageOf(error));
    }
  };
  try {
    const results: RanCheck[] = [];
    for (const [at, command] of commands.entries()) {
      if (at > 0 && !broken.signal.aborted) await run([endOthers, "sh", String(seconds)], undoMs);
      results.push(await runOne(command));
    }
    return results;
  } finally {
    done.abort();
  }
}

/** Starts the sandbox of a check, and checks out the commit there. */
async function checkOutCommit(
  { containers, commits, isInImage, imageCommit }: CheckSandboxes,
  id: string,
  commit: string,
  run: (words: readonly string[], timeoutMs: number) => Promise<CommandResult>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isInImage(commit))) {
    await using bundle = await commits.bundle(commit, "check", signal, imageCommit ?? undefined);
    await containers.copyIn(id, "/", packFiles(withBundle(bundle.file)), signal);
  }
  await containers.start(id, signal);
  const checkedOut = await run([checkOut, "sh", commit, `/${bundleFile}`], checkoutMs);
  if (checkedOut.exitCode !== 0)
    throw new SwarmError("GIT_FAILED", {
      command: "checkout",
      reason: `the commit could not be checked out in the check's sandbox: ${textOf(checkedOut)}`,
    });
}

function shownMessageOf(error: unknown): string {
  return error instanceof Error ? sanitizeText(error.message, shownLength) : String(error);
}

function withBundle(from: string): EntryToPack[] {
  const own = { uid: 0, gid: 0 };
  return [
    { kind: "folder", path: "aimi-check", mode: 0o755, ...own },
    { kind: "file", path: bundleFile, mode: 0o644, ...own, from },
  ];
}

function textOf({ stdout, stderr }: Pick<CommandResult, "stdout" | "stderr">): string {
  return truncateTextStart(sanitizeLines([stdout, stderr].filter(Boolean).join("\n")).trim(), shownLength);
}
