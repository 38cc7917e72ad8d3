import { join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { type EnvironmentVariables, userFolders } from "../machine/user-folders.ts";
import type { Project } from "../project/project.ts";
import type { FlagSettings } from "../settings/read-settings.ts";
import { reportFailure } from "./render/report-failure.ts";
import { runCommandLine } from "./run-command-line.ts";

export interface ProcessOptions {
  readonly env: EnvironmentVariables;
  /** Calls `stop` at each SIGINT and SIGTERM. */
  readonly onStopSignal: (stop: (signal: NodeJS.Signals) => void) => void;
  /** Opens the project for a command. `command` is the command line by which other processes name this one. */
  readonly openProject: (flags: FlagSettings, command: string) => Project;
}

/**
 * Runs a command of swarm, and returns the exit code of the program. The first SIGINT or SIGTERM asks the
 * command to stop.
 */
export async function runProcess(
  words: readonly string[],
  { env, onStopSignal, openProject }: ProcessOptions,
): Promise<number> {
  const stopping = new AbortController();
  let stoppedBy: NodeJS.Signals | undefined;
  let onSecond: (() => void) | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppedBy === undefined) {
      stoppedBy = signal;
      stopping.abort(new Error(`stopped by ${signal}`));
    } else if (onSecond) {
      const act = onSecond;
      onSecond = undefined;
      act();
    } else {
      // Restores the default action of the signals, so that the signal ends this process.
      process.off("SIGINT", stop).off("SIGTERM", stop);
      process.kill(process.pid, signal);
    }
  };
  onStopSignal(stop);

  try {
    const command = `swarm ${words.join(" ")}`.slice(0, 200);
    const exit = await runCommandLine(words, {
      env,
      signal: stopping.signal,
      onSecondSignal: (act) => {
        onSecond = act;
      },
      openProject: (flags) => openProject(flags, command),
    });
    return stoppedBy ? exitOf(stoppedBy) : exit;
  } catch (error) {
    if (stoppedBy) return exitOf(stoppedBy);
    return reportFailure(asForeseen(error), {
      json: words.includes("--json"),
      stdout: process.stdout,
      stderr: process.stderr,
      reportFolder: join(userFolders(env).state, "bugs"),
      now: new Date(),
    });
  }
}

function exitOf(signal: NodeJS.Signals): number {
  return signal === "SIGINT" ? 130 : 143;
}

const fileProblems: readonly string[] = [
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOSPC",
  "EDQUOT",
  "EIO",
  "EISDIR",
  "ENOTDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "ENXIO",
  "EEXIST",
  "ENOTEMPTY",
  "EBUSY",
  "EMFILE",
  "ENFILE",
  "EXDEV",
  "ENOENT",
];

/**
 * Turns errors of the filesystem, such as a full disk, into expected errors. The user can correct their
 * cause, so they are not reported as bugs of swarm.
 */
function asForeseen(error: unknown): unknown {
  if (error instanceof SwarmError || !(error instanceof Error)) return error;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || !fileProblems.includes(code)) return error;
  return new SwarmError(
    "FILE_FAILED",
    {
      file: path ?? (syscall === "uv_cwd" ? "the current folder" : "a file"),
      reason: error.message.replace(/,[^,]*$/, ""),
    },
    error,
  );
}
